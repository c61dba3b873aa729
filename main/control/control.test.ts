import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unknown } from '../../sidecars/protocol/decode.ts'
import { RpcPeer } from '../../sidecars/rpc/peer.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { connectUnix, socketTransport } from '../../sidecars/rpc/unix-socket.ts'
import type { FeedBatch, FeedSnapshot } from '../../preload/api.ts'
import { Feed } from '../feed/feed.ts'
import { ControlClient } from './control-client.ts'
import { startControlServer, type ControlServer } from './control-server.ts'
import { runExited, runOutput, type RunExited } from './control-protocol.ts'
import type { ControlledHost, RunEnd, RunRequest, RunSink } from './controlled-host.ts'

let folder: string
let server: ControlServer
let feed: Feed
const logged: string[] = []
const invoked: unknown[] = []
const clients: ControlClient[] = []

interface StartedRun {
  request: RunRequest
  sink: RunSink
  received: string[]
  finish: (end: RunEnd) => void
}
let runs: StartedRun[]
let refuseRuns: RpcError | undefined

/** A host that keeps what it is asked, over the real feed. */
const host: ControlledHost = {
  get feed() {
    return feed
  },
  invoke: async (channel, args, actor) => {
    invoked.push([channel, args, actor])
    if (channel === 'processes.read')
      return {
        chunks: [{ seq: 1, stream: 'stdout', bytes: Uint8Array.of(0, 255, 10) }],
        gap: null,
        nextSeq: 2,
      } as never
    return null as never
  },
  shellEnvironment: async ({ cwd, pid }) => ({ HTTP_PROXY: `http://lease@127.0.0.1:1`, SEEN: `${cwd} ${pid}` }),
  startRun: async (request, sink) => {
    if (refuseRuns) throw refuseRuns
    const received: string[] = []
    let finish = (_: RunEnd) => {}
    const closed = new Promise<RunEnd>((resolve) => (finish = resolve))
    runs.push({ request, sink, received, finish })
    return {
      processId: 'prc_1',
      sessionId: 'ses_1',
      write: async (bytes) => void received.push(`write ${Buffer.from(bytes).toString('latin1')}`),
      endInput: async () => void received.push('endInput'),
      signal: async (name) => void received.push(`signal ${name}`),
      resize: async (columns, rows) => void received.push(`resize ${columns}x${rows}`),
      closed,
    }
  },
}

let stopRequests = 0

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gh-control-'))
  logged.length = 0
  invoked.length = 0
  stopRequests = 0
  runs = []
  refuseRuns = undefined
  feed = new Feed({
    host: {
      version: '0.1.0',
      instanceId: 'i',
      dataDir: folder,
      platform: 'linux',
      startedAtMs: 1,
      commandLine: 'gatehouse',
    },
    settings: {} as never,
  })
  server = await startControlServer({
    path: join(folder, 'control.sock'),
    host,
    controlToken: 'control-secret',
    agentToken: 'agent-secret',
    hello: { instanceId: 'i', version: '0.1.0', kind: 'headless', pid: process.pid },
    requestStop: () => stopRequests++,
    log: (message) => logged.push(message),
  })
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await server.close()
  rmSync(folder, { recursive: true })
})

async function connect(controlToken = 'control-secret'): Promise<ControlClient> {
  const client = await ControlClient.connect({ controlSocket: join(folder, 'control.sock'), controlToken })
  clients.push(client)
  return client
}
async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 1))
}
const notice = (id: string, detail: string | null = null) =>
  ({ id, level: 'info', message: id, detail, atMs: 1 }) as const

describe('who may use the control socket', () => {
  test('the control token opens it and the client learns whom it talks to', async () => {
    const client = await connect()
    expect(client.host).toEqual({
      protocolVersion: 1,
      instanceId: 'i',
      version: '0.1.0',
      kind: 'headless',
      pid: process.pid,
    })
    expect(server.clientCount).toBe(1)
  })

  test('the owner can stop the host, nobody before a hello can', async () => {
    const stranger = new RpcPeer(socketTransport('test', await connectUnix(join(folder, 'control.sock')))).start()
    await expect(stranger.request('host/stop', {}, unknown)).rejects.toMatchObject({ code: 'forbidden' })
    stranger.close()
    expect(stopRequests).toBe(0)
    const client = await connect()
    await client.stopHost()
    await until(() => stopRequests === 1)
  })

  test.each([
    ['agent-secret', 'the token of agents does not open the control socket: agents cannot decide'],
    ['control-secret ', 'wrong control token'],
    ['', 'wrong control token'],
  ])('the token %j is refused and the connection ended', async (token, message) => {
    const peer = new RpcPeer(socketTransport('test', await connectUnix(join(folder, 'control.sock')))).start()
    await expect(peer.request('control/hello', { token }, unknown)).rejects.toMatchObject({
      code: 'forbidden',
      message,
    })
    await peer.closed
    expect(server.clientCount).toBe(0)
    expect(logged).toHaveLength(1)
    expect(logged.join()).not.toContain('secret')
  })

  test('nothing is answered before hello, and nothing reaches the host', async () => {
    const peer = new RpcPeer(socketTransport('test', await connectUnix(join(folder, 'control.sock')))).start()
    const params = { channel: 'approvals.decide', args: [{}], runId: '1', argv: ['x'] }
    const answers = ['host/invoke', 'feed/subscribe', 'run/start', 'made/up'].map((method) =>
      peer.request(method, params, unknown),
    )
    for (const answer of answers) await expect(answer).rejects.toMatchObject({ code: 'forbidden' })
    expect(invoked).toEqual([])
    await peer.closed
  })

  test.each(['{not json\n', '[]\n', '{"jsonrpc":"2.0","method":"host/stop"}\n', `${'x'.repeat(9_000_000)}\n`])(
    'who does not begin with hello is turned away: %.30j',
    async (line) => {
      const socket = await connectUnix(join(folder, 'control.sock'))
      socket.on('error', () => {})
      socket.resume()
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.write(line)
      await closed
      expect([invoked, stopRequests]).toEqual([[], 0])
      expect((await connect()).host.kind).toBe('headless')
    },
  )

  test('another protocol version is refused with the next step', async () => {
    const peer = new RpcPeer(socketTransport('test', await connectUnix(join(folder, 'control.sock')))).start()
    await expect(
      peer.request('control/hello', { token: 'control-secret', protocolVersion: 9 }, unknown),
    ).rejects.toThrow('the host speaks control protocol 1 and this client 9; restart the older one')
    peer.close()
  })
})

describe('what the owner can do', () => {
  test('channels are called as the person at the command line, arguments checked first', async () => {
    const client = await connect()
    const intent = { requestId: 'req_1', subjectHash: 'h', verdict: 'allow', scope: 'once' } as const
    await client.invoke('approvals.decide', intent)
    expect(invoked).toEqual([['approvals.decide', [intent], { kind: 'person', via: 'command-line' }]])
    await expect(client.invoke('approvals.decide', { ...intent, verdict: 'maybe' as never })).rejects.toMatchObject({
      code: 'invalidParams',
      message: 'params.args[0].verdict: expected "allow" or "deny", got "maybe"',
    })
    await expect(
      client.peer.request('host/invoke', { channel: 'clipboard.write', args: ['x'] }, unknown),
    ).rejects.toThrow('there is no channel clipboard.write on the control socket')
    await expect(
      client.peer.request('host/invoke', { channel: 'sidecars.restart', args: [] }, unknown),
    ).rejects.toThrow('expected 1 arguments, got 0')
    expect(invoked).toHaveLength(1)
  })

  test('output read over the socket is byte-exact', async () => {
    const client = await connect()
    const { chunks } = await client.readProcess('prc_1', 0, 1024)
    expect(Buffer.from(chunks[0]?.base64 ?? '', 'base64')).toEqual(Buffer.from([0, 255, 10]))
  })

  test('a shell gets its proxy variables', async () => {
    const client = await connect()
    const { environment } = await client.shellEnvironment('/home/me', 42)
    expect(environment).toEqual({ HTTP_PROXY: 'http://lease@127.0.0.1:1', SEEN: '/home/me 42' })
  })

  test('the feed is a snapshot and then every change', async () => {
    feed.set('notices', 'n0', notice('n0'))
    const client = await connect()
    const snapshots: FeedSnapshot[] = []
    const batches: FeedBatch[] = []
    await client.subscribe(
      (snapshot) => snapshots.push(snapshot),
      (batch) => batches.push(batch),
    )
    feed.set('notices', 'n1', notice('n1'))
    await until(() => batches.length === 1)
    expect(Object.keys(snapshots[0]?.tables.notices ?? {})).toEqual(['n0'])
    expect(batches[0]?.deltas).toEqual([{ table: 'notices', key: 'n1', value: notice('n1') }])
    client.close()
    await until(() => feed.subscriberCount === 0)
  })

  test('a client that does not read gets no backlog but a new snapshot', async () => {
    const client = await connect()
    const snapshots: FeedSnapshot[] = []
    await client.subscribe(
      (snapshot) => snapshots.push(snapshot),
      () => {},
    )
    client.peer.transport.pause()
    const big = 'x'.repeat(512 * 1024)
    for (let n = 0; feed.subscriberCount > 0; n++) {
      feed.set('notices', `n${n}`, notice(`n${n}`, big))
      await new Promise((resolve) => setTimeout(resolve, 18))
    }
    feed.set('notices', 'last', notice('last'))
    client.peer.transport.resume()
    await until(() => snapshots.length > 1)
    await until(() => snapshots.some((snapshot) => 'last' in snapshot.tables.notices))
  })
})

describe('runs', () => {
  const request = { runId: 'r1', argv: ['sh', '-c', 'x'], cwd: '/tmp', env: { A: '1' }, tty: null }

  async function start() {
    const client = await connect()
    const output: string[] = []
    const exits: RunExited[] = []
    client.peer.onNotification('run/output', runOutput, ({ stream, base64 }) =>
      output.push(`${stream} ${Buffer.from(base64, 'base64').toString('hex')}`),
    )
    client.peer.onNotification('run/exited', runExited, (exit) => exits.push(exit))
    const started = await client.peer.request('run/start', request, unknown)
    return { client, output, exits, started, run: runs[0] as StartedRun }
  }

  test('a run carries input, output, signals and its end', async () => {
    const { client, output, exits, started, run } = await start()
    expect(started).toEqual({ processId: 'prc_1', sessionId: 'ses_1' })
    expect(run.request).toMatchObject({ argv: ['sh', '-c', 'x'], cwd: '/tmp', env: { A: '1' }, tty: null })
    await client.peer.request(
      'run/write',
      { runId: 'r1', base64: Buffer.from('\u0000\u00ff', 'latin1').toString('base64') },
      unknown,
    )
    await client.peer.request('run/signal', { runId: 'r1', signal: 'interrupt' }, unknown)
    await client.peer.request('run/resize', { runId: 'r1', columns: 80, rows: 24 }, unknown)
    await client.peer.request('run/endInput', { runId: 'r1' }, unknown)
    expect(run.received).toEqual(['write \u0000\u00ff', 'signal interrupt', 'resize 80x24', 'endInput'])
    await run.sink.output('stdout', Uint8Array.of(0, 255))
    await run.sink.output('stderr', Uint8Array.of(10))
    run.finish({ exitCode: 7, exitSignal: null })
    await until(() => exits.length === 1)
    expect(output).toEqual(['stdout 00ff', 'stderr 0a'])
    expect(exits).toEqual([{ runId: 'r1', exitCode: 7, exitSignal: null }])
    await expect(client.peer.request('run/endInput', { runId: 'r1' }, unknown)).rejects.toMatchObject({
      code: 'notFound',
    })
  })

  test('a client that does not read holds the run back instead of growing the host', async () => {
    const { client, run } = await start()
    client.peer.transport.pause()
    const chunk = new Uint8Array(256 * 1024)
    let taken = 0
    const flood = (async () => {
      for (; taken < 400; taken++) await run.sink.output('stdout', chunk)
    })()
    const settled = async () => {
      const before = taken
      await new Promise((resolve) => setTimeout(resolve, 100))
      return before === taken
    }
    while (!(await settled()));
    // 100 MB were offered; what is in flight is bounded by the queue and the socket's buffers.
    expect(taken).toBeLessThan(40)
    client.peer.transport.resume()
    await flood
    expect(taken).toBe(400)
  })

  test('when the client goes its process is terminated; when it goes before the decision the request is withdrawn', async () => {
    const { client, run } = await start()
    client.close()
    await until(() => run.received.length === 1)
    expect(run.received).toEqual(['signal terminate'])
    expect(run.request.signal.aborted).toBe(false)
  })

  test('a refusal is an error with its reason', async () => {
    refuseRuns = new RpcError('denied', 'rm is forbidden by default.rules:3')
    const client = await connect()
    await expect(client.peer.request('run/start', request, unknown)).rejects.toMatchObject({
      code: 'denied',
      message: 'rm is forbidden by default.rules:3',
    })
  })

  test.each([
    [{ ...request, argv: [] }, 'params.argv: expected a program to run'],
    [{ ...request, argv: 'ls' }, 'params.argv: expected an array, got a string'],
    [{ ...request, tty: { columns: 0, rows: 1 } }, 'params.tty.columns: expected 1..1000, got 0'],
  ])('bad input %j names the field', async (params, message) => {
    const client = await connect()
    await expect(client.peer.request('run/start', params, unknown)).rejects.toMatchObject({
      code: 'invalidParams',
      message,
    })
  })
})
