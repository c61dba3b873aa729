import { PassThrough } from 'node:stream'
import { MessageChannel } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { WebSocketServer, WebSocket } from 'ws'
import type { AddressInfo } from 'node:net'
import { LinesTransport } from './lines-transport.ts'
import { LINKS, type LinkedTransports } from './linked-transports.ts'
import type { PortLike } from './port-like.ts'
import { parentPortCarrier, PortTransport, utilityProcessCarrier, workerPortCarrier } from './port-transport.ts'
import type { CloseReason, Transport, TransportProblem } from './transport.ts'
import { WebSocketTransport } from './websocket-transport.ts'

/** Starts a transport and keeps what it delivers. */
function listen(transport: Transport) {
  const messages: string[] = []
  const problems: TransportProblem[] = []
  let close = (_: CloseReason) => {}
  const closed = new Promise<CloseReason>((resolve) => (close = resolve))
  transport.start({
    onMessage: (text) => messages.push(text),
    onProblem: (problem) => problems.push(problem),
    onClose: (reason) => close(reason),
  })
  return { messages, problems, closed }
}
async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 1))
}

const disposers: (() => unknown)[] = []
afterEach(async () => {
  for (const dispose of disposers.splice(0)) await dispose()
})
const link = async (name: keyof typeof LINKS): Promise<LinkedTransports> => {
  const linked = await LINKS[name]!()
  disposers.push(linked.dispose)
  return linked
}

test('messages sent before the other side starts are kept for it', async () => {
  for (const name of Object.keys(LINKS)) {
    const { a, b } = await link(name)
    a.send('1')
    a.send('2')
    await new Promise((resolve) => setTimeout(resolve, 5))
    const { messages } = listen(b)
    await until(() => messages.length === 2)
    expect(messages, name).toEqual(['1', '2'])
  }
})

test('onClose comes once and last, and nothing is sent or delivered after it', async () => {
  for (const name of Object.keys(LINKS)) {
    const { a, b } = await link(name)
    const far = listen(b)
    const near = listen(a)
    a.send('last')
    a.close('finished')
    a.close('again')
    expect(await near.closed, name).toEqual({ code: 'local', message: 'finished' })
    expect(await far.closed, name).toMatchObject({ code: 'remote' })
    expect(far.messages, name).toEqual(['last'])
    expect(b.send('too late'), name).toBe(true)
    await b.drained()
    expect(near.messages, name).toEqual([])
  }
})

test('a 64 MB line on a socket with a smaller bound is skipped and reported; the next message arrives', async () => {
  const input = new PassThrough()
  const transport = new LinesTransport('small', input, new PassThrough(), { maxLineBytes: 1024 * 1024 })
  disposers.push(() => transport.close())
  const { messages, problems } = listen(transport)
  const piece = Buffer.alloc(1024 * 1024, 'x')
  for (let i = 0; i < 64; i++) if (!input.write(piece)) await new Promise((resolve) => input.once('drain', resolve))
  input.write('\n{"next":true}\n')
  await until(() => messages.length === 1)
  expect(messages).toEqual(['{"next":true}'])
  expect(problems).toEqual([
    {
      code: 'message-too-long',
      message: 'a line of 67108864 bytes is over the limit of 1048576 bytes and was skipped',
    },
  ])
})

test('a 64 MB line within the default bound arrives whole', async () => {
  const { a, b } = await link('a unix socket')
  const { messages } = listen(b)
  a.send('x'.repeat(64 * 1024 * 1024))
  await until(() => messages.length === 1)
  expect(messages[0]?.length).toBe(64 * 1024 * 1024)
}, 30_000)

test('the last words of a peer that stopped reading are still heard', async () => {
  const input = new PassThrough()
  const output = new PassThrough()
  const transport = new LinesTransport('child', input, output)
  const { messages, closed } = listen(transport)
  output.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  await new Promise((resolve) => setImmediate(resolve))
  input.end('{"last":1}\n{"unterminated":2}')
  expect(await closed).toMatchObject({ code: 'remote' })
  expect(messages).toEqual(['{"last":1}', '{"unterminated":2}'])
})

test('binary WebSocket frames are read as text, ones that are not UTF-8 are reported', async () => {
  const { b, inject } = await link('a WebSocket')
  const { messages, problems } = listen(b)
  inject?.(Buffer.from('{"é":1}'))
  inject?.(Buffer.from([0xff, 0xfe]))
  inject?.(Buffer.from('2'))
  await until(() => messages.length === 2)
  expect(messages).toEqual(['{"é":1}', '2'])
  expect(problems.map((problem) => problem.code)).toEqual(['not-utf8'])
})

test('a WebSocket peer that stops answering pings is cut off, one that answers is kept', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong: false })
  disposers.push(() => new Promise((resolve) => server.close(resolve)))
  await new Promise((resolve) => server.once('listening', resolve))
  const address = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  let isAnswering = true
  let pings = 0
  server.on('connection', (socket) =>
    socket.on('ping', () => {
      pings++
      if (isAnswering) socket.pong()
    }),
  )
  const socket = new WebSocket(address)
  await new Promise((resolve) => socket.once('open', resolve))
  const transport = new WebSocketTransport('ws', socket, { pingIntervalMs: 20 })
  const { closed } = listen(transport)
  await until(() => pings >= 4)
  isAnswering = false
  expect(await closed).toEqual({ code: 'error', message: 'the other side stopped answering pings' })
  for (const client of server.clients) client.terminate()
})

test('the code and reason of a WebSocket close reach the owner', async () => {
  const { a, b } = await link('a WebSocket')
  listen(a)
  const { closed } = listen(b)
  a.close('going home')
  expect(await closed).toEqual({ code: 'remote', message: 'the other side closed the connection (1000): going home' })
})

test('port messages that bring a port go to onPort, also when nobody listened yet; others are reported', async () => {
  const { port1, port2 } = new MessageChannel()
  disposers.push(() => port1.close())
  const handed = { name: 'output port' } as unknown as PortLike
  let deliver = (_: { data: unknown; ports: PortLike[] }) => {}
  const transport = new PortTransport(
    'parent port',
    parentPortCarrier({
      postMessage: (message) => port1.postMessage(message),
      on: (_event, listener) => (deliver = listener),
    }),
  )
  const { messages, problems } = listen(transport)
  deliver({ data: { type: 'attachOutput' }, ports: [handed] })
  const ports: [unknown, PortLike][] = []
  transport.onPort((message, port) => ports.push([message, port]))
  deliver({ data: { type: 'attachOutput', processId: 'p2' }, ports: [handed] })
  deliver({ data: 42, ports: [] })
  deliver({ data: '{}', ports: [] })
  expect(ports).toEqual([
    [{ type: 'attachOutput' }, handed],
    [{ type: 'attachOutput', processId: 'p2' }, handed],
  ])
  expect(messages).toEqual(['{}'])
  expect(problems.map((problem) => problem.code)).toEqual(['not-a-message'])
  port2.close()
})

test('the exit of a utility process closes the transport of its host', async () => {
  let exit = (_: number) => {}
  const transport = new PortTransport(
    'utility',
    utilityProcessCarrier({
      postMessage() {},
      on(event: string, listener: never) {
        if (event === 'exit') exit = listener
      },
    }),
  )
  const { closed } = listen(transport)
  exit(1)
  expect(await closed).toMatchObject({ code: 'remote' })
})

test('a port is acknowledged only when the owner took the message', async () => {
  const { port1, port2 } = new MessageChannel()
  const a = new PortTransport('a', workerPortCarrier(port1), { highWaterBytes: 10, lowWaterBytes: 1 })
  const b = new PortTransport('b', workerPortCarrier(port2))
  disposers.push(() => a.close())
  listen(a)
  const { messages } = listen(b)
  b.pause()
  expect(a.send('x'.repeat(20))).toBe(false)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(a.queuedBytes).toBe(20)
  b.resume()
  await a.drained()
  expect(messages).toEqual(['x'.repeat(20)])
  expect(a.queuedBytes).toBe(0)
})

test('a message that comes as bytes in pieces is one message, in its order among the others', async () => {
  let able = 0
  for (const name of Object.keys(LINKS)) {
    const { a, b } = await link(name)
    if (!a.sendBytes) continue
    able++
    const { messages } = listen(b)
    a.send('1')
    const bytes = Buffer.from(`"${'grün '.repeat(100_000)}"`)
    a.sendBytes([bytes.subarray(0, 4), bytes.subarray(4, 4), bytes.subarray(4, 70_003), bytes.subarray(70_003)])
    a.send('2')
    await until(() => messages.length === 3)
    expect([messages[0], messages[1] === bytes.toString('utf8'), messages[2]], name).toEqual(['1', true, '2'])
  }
  expect(able).toBeGreaterThan(0)
})
