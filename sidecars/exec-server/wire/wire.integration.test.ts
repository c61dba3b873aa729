import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

let server: ExecServerAlone
beforeAll(async () => {
  server = await startExecServerAlone()
})
afterAll(() => server.stop())

const rssMiB = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024

describe('messages', () => {
  it('are refused before the handshake in the words of the wire', async () => {
    const client = await ExecWireClient.connect(server.url)
    expect(await client.ask('process/read', { processId: 'a' })).toMatchObject({
      error: { code: -32600, message: 'client must call initialize before using exec methods' },
    })
    expect(await client.ask('process/read', {})).toMatchObject({ error: { code: -32602 } })
    expect(await client.ask('nope')).toMatchObject({
      error: { code: -32601, message: 'exec-server stub does not implement `nope` yet' },
    })
    expect(await client.ask('initialize', { clientName: 'a', resumeSessionId: 'nope' })).toMatchObject({
      error: { code: -32600, message: 'unknown session id nope' },
    })
    expect(await client.ask('initialize', { clientName: 'a', resumeSessionId: '' })).toMatchObject({
      error: { code: -32600 },
    })
    const hello = await client.ask('initialize', { clientName: '' })
    expect(hello.result?.sessionId).toMatch(/^[0-9a-f-]{36}$/)
    expect(hello.result?.environmentInfo).toMatchObject({ shell: { path: expect.any(String) } })
    expect(await client.ask('process/read', { processId: 'a' })).toMatchObject({
      error: { code: -32600, message: 'client must send initialized before using exec methods' },
    })
    client.send('{"method":"initialized","params":{"ignored":true}}')
    client.send('{"method":"initialized"}')
    expect(await client.ask('process/read', { processId: 'a' })).toMatchObject({
      error: { code: -32600, message: 'unknown process id a' },
    })
    expect(await client.ask('initialize', { clientName: 'x' })).toMatchObject({
      error: { code: -32600, message: 'initialize may only be sent once per connection' },
    })
    client.drop()
  })

  it('may all be sent without waiting for an answer', async () => {
    const client = await ExecWireClient.connect(server.url)
    client.send('{"id":1,"method":"initialize","params":{"clientName":"hasty"}}')
    client.send('{"method":"initialized"}')
    client.send('{"id":2,"method":"environment/status"}')
    await client.until(() => client.messages.length === 2)
    expect(client.messages.map(({ id }) => id)).toEqual([1, 2])
    expect(client.messages[1]).toEqual({ id: 2, result: { status: 'ready' } })
    client.drop()
  })

  it('that are malformed are answered with id -1, and the connection lives on', async () => {
    const client = await ExecWireClient.open(server.url)
    const before = client.messages.length
    const malformed = [
      '{bad',
      '[]',
      '7',
      '{"id":null,"method":"m"}',
      '{"id":1.5,"method":"m"}',
      '{"id":1,"id":2,"method":"m"}',
    ]
    for (const text of malformed) client.send(text)
    client.socket?.send(Buffer.from('{"id":77,"method":"environment/status"}'))
    await client.until(() => client.messages.length === before + malformed.length + 1)
    const answers = client.messages.slice(before)
    for (const answer of answers.slice(0, -1)) {
      expect(answer).toMatchObject({ id: -1, error: { code: -32600 } })
      expect(answer.error?.message).toMatch(
        /^failed to parse websocket JSON-RPC message from exec-server websocket 127\.0\.0\.1:\d+: /,
      )
    }
    expect(answers.at(-1)).toEqual({ id: 77, result: { status: 'ready' } })
    client.drop()
  })

  it('echo ids beyond 2^53 and text ids', async () => {
    const socket = new WebSocket(server.url)
    const lines: string[] = []
    socket.on('message', (data) => lines.push(String(data)))
    await new Promise((resolve) => socket.once('open', resolve))
    socket.send('{"id":"one","method":"initialize","params":{"clientName":"x"}}')
    socket.send('{"method":"initialized"}')
    socket.send('{"id":9007199254740993,"method":"environment/status"}')
    while (lines.length < 2) await new Promise((resolve) => socket.once('message', resolve))
    expect(lines[0]).toContain('{"id":"one",')
    expect(lines[1]).toBe('{"id":9007199254740993,"result":{"status":"ready"}}')
    socket.terminate()
  })

  it.each([
    ['an unknown notification', '{"method":"foo/bar","params":{}}'],
    ['an answer to nothing', '{"id":1,"result":{}}'],
    ['an error to nothing', '{"id":1,"error":{"code":1,"message":"x"}}'],
  ])('end the connection when they are %s', async (_, text) => {
    const client = await ExecWireClient.open(server.url)
    client.send(text)
    expect(await client.closed).toBe(1006)
  })

  it('end the connection when initialized comes first, also after a failed initialize', async () => {
    const client = await ExecWireClient.connect(server.url)
    expect(await client.ask('initialize', { clientName: 'x', resumeSessionId: 'gone' })).toHaveProperty('error')
    client.send('{"method":"initialized"}')
    expect(await client.closed).toBe(1006)
  })

  it('wait for nobody: a long poll holds up no other request', async () => {
    const client = await ExecWireClient.open(server.url)
    const process = await client.run(['sleep', '60']).running()
    let isReadDone = false
    const read = process.read({ waitMs: 60_000 }).then((answer) => {
      isReadDone = true
      return answer
    })
    expect(await client.call('environment/status')).toEqual({ status: 'ready' })
    expect(isReadDone).toBe(false)
    await process.terminate()
    expect(await read).toMatchObject({ exited: true, exitCode: 137 })
    client.drop()
  })

  it('of 200 starts at once do not lock the connection while output flows', async () => {
    const client = await ExecWireClient.open(server.url)
    const processes = Array.from({ length: 200 }, (_, i) => client.run(['sh', '-c', `seq ${i} ${i + 500}`]))
    for (const process of processes) await process.closed()
    processes.forEach((process, i) => {
      expect(process.text()).toBe(`${Array.from({ length: 501 }, (_, k) => i + k).join('\n')}\n`)
      expect(process.seqs).toEqual(process.seqs.map((_, k) => k + 1))
    })
    client.drop()
  })
})

describe('frames', () => {
  it('may come in fragments, and go in fragments above 8 MiB', async () => {
    const client = await ExecWireClient.open(server.url)
    const { socket } = client
    const text = '{"id":900,"method":"environment/status"}'
    socket?.send(text.slice(0, 9), { fin: false })
    socket?.ping()
    socket?.send(text.slice(9), { fin: true })
    await client.until(() => client.messages.some(({ id }) => id === 900))

    const process = await client.run(['sh', '-c', 'head -c 12000000 /dev/zero']).closed()
    // The library joins fragments: what arrives is one message of 16 MB.
    const { chunks } = await process.read({})
    const bytes = (chunks as { chunk: string }[]).reduce(
      (sum, { chunk }) => sum + Buffer.from(chunk, 'base64').length,
      0,
    )
    expect(bytes).toBe(12_000_000)
    client.drop()
  })

  it('above the limit drop the connection', async () => {
    const client = await ExecWireClient.open(server.url)
    const oversized = Buffer.alloc(97 * 1024 * 1024, 0x20)
    client.socket?.send(oversized, { binary: false })
    expect(await client.closed).toBe(1006)
  })

  it('that ask to close are answered by dropping TCP', async () => {
    const client = await ExecWireClient.open(server.url)
    client.socket?.close(1000)
    expect(await client.closed).toBe(1006)
  })

  it('E116 a client that does not read holds its processes back, costs little and loses nothing', async () => {
    const slow = await ExecWireClient.open(server.url)
    const before = rssMiB()
    const process = await slow.run(['sh', '-c', 'head -c 100000000 /dev/zero']).running()
    slow.socket?.pause()
    const other = await ExecWireClient.open(server.url)
    const pid = Number((await other.run(['sh', '-c', 'pgrep -f "head -c 100000000" | head -1']).closed()).text())
    // Blocked on its pipe: its write count does not move any more.
    const written = () => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
    for (let last = -1; last !== written();) {
      last = written()
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    expect(written()).toBeLessThan(60_000_000)
    expect(rssMiB() - before).toBeLessThan(64)
    expect(await other.call('environment/status')).toEqual({ status: 'ready' })
    slow.socket?.resume()
    await process.closed()
    expect(process.bytes().length).toBe(100_000_000)
    expect(process.seqs).toEqual(process.seqs.map((_, k) => k + 1))
    slow.drop()
    other.drop()
  })
})

describe('noise', () => {
  // GATEHOUSE_FUZZ_MESSAGES=100000 for a long run.
  it('of malformed messages kills nothing and leaves nothing behind', async () => {
    const handles = () => readdirSync(`/proc/${server.pid}/fd`).length
    const client = await ExecWireClient.open(server.url)
    const handlesBefore = handles()
    let seed = 7
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff) % below
    const good =
      '{"id":5,"method":"process/start","params":{"processId":"x","argv":["true"],"cwd":"file:///","env":{},"tty":false}}'
    const garble = () => {
      const bytes = Buffer.from(good.slice(0, 1 + random(good.length - 1)))
      for (let i = random(4); i >= 0; i--) bytes[random(bytes.length)] = random(128)
      // An opening brace too few keeps every one of them from being a message.
      return bytes.toString('latin1').replace('{', '')
    }
    const ROUNDS = Math.ceil(Number(process.env.GATEHOUSE_FUZZ_MESSAGES ?? 10_000) / 1_000)
    let rssAfterWarmUp = 0
    for (let round = 0; round < ROUNDS; round++) {
      const before = client.messages.length
      for (let i = 0; i < 1_000; i++) client.send(garble())
      await client.until(() => client.messages.length >= before + 1_000)
      expect(client.messages.slice(before).every(({ id, error }) => id === -1 && error?.code === -32600)).toBe(true)
      client.messages.length = 0
      if (round === Math.floor(ROUNDS / 5)) rssAfterWarmUp = rssMiB()
    }
    expect(await client.call('environment/status')).toEqual({ status: 'ready' })
    expect(handles()).toBe(handlesBefore)
    expect(rssMiB() - rssAfterWarmUp).toBeLessThan(30)
    client.drop()
  })
})
