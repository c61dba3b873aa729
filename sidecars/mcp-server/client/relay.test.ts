import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { UnixListener } from '../../rpc/unix-socket.ts'
import { isAlive } from '../../testing/is-alive.ts'
import { LocalExec } from '../../testing/local-exec.ts'
import { connectLines, ERAS, factsOf, streamPair, textOf } from '../../testing/mcp-line-client.ts'
import { RecordingHost } from '../../testing/recording-host.ts'
import { listenForAttach } from '../attach/attach-listener.ts'
import { SessionRegistry } from '../sessions/session-registry.ts'
import { Relay, type RelayOptions } from './relay.ts'

/** A host that can go away and come back, as far as a relay can tell. */
class ComingAndGoing {
  readonly record = new RecordingHost()
  readonly exec = new LocalExec()
  private registry: SessionRegistry | undefined
  private listener: UnixListener | undefined
  private token = ''
  private launches = 0

  constructor(private readonly folder: string) {}

  async start(): Promise<void> {
    this.token = `token ${++this.launches}`
    this.registry = new SessionRegistry(this.record, this.exec)
    this.listener = await listenForAttach({
      socketPath: join(this.folder, `${this.launches}.sock`),
      agentToken: this.token,
      registry: this.registry,
      log: () => {},
    })
  }
  async stop(): Promise<void> {
    const { listener, registry } = this
    this.listener = undefined
    await listener?.close()
    await registry?.dispose('the host stops')
  }
  find() {
    return this.listener ? { socketPath: this.listener.path, token: this.token } : null
  }
}

let folder: string
let host: ComingAndGoing
let relay: Relay
let ended: Promise<void>
let log: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-relay-'))
  host = new ComingAndGoing(folder)
  log = []
})
afterEach(async () => {
  relay.stop()
  await ended
  await host.stop()
  await host.exec.dispose()
  rmSync(folder, { recursive: true })
})

function startRelay(options: Partial<RelayOptions> = {}): {
  input: NodeJS.ReadableStream
  output: NodeJS.WritableStream
} {
  const { near, far } = streamPair()
  relay = new Relay({
    agent: { ...far, cwd: '/tmp', pid: 77 },
    findHost: async () => host.find(),
    startHost: () => Promise.reject(new Error('No host could be started: the data folder is read-only.')),
    log: (message) => log.push(message),
    returnLimitMs: 3_000,
    ...options,
  })
  ended = relay.run()
  return near
}
async function connect(era: (typeof ERAS)[number], options?: Partial<RelayOptions>): Promise<Client> {
  const near = startRelay(options)
  return await connectLines(near.input as never, near.output as never, era)
}
const echo = (client: Client, word: string) =>
  client.callTool({ name: 'run_command', arguments: { argv: ['echo', word] } })

describe.each(ERAS)('in the %s era', (era) => {
  test('an agent works through the relay, as a session of the host', async () => {
    await host.start()
    const client = await connect(era)
    expect(factsOf(await echo(client, 'hello')).output).toBe('hello\n')
    expect(host.record.sessions).toEqual([expect.objectContaining({ agentName: 'Line Agent', cwd: '/tmp', pid: 77 })])
  })

  test('when no host runs, one is started and the first messages wait for it', async () => {
    let started = 0
    const client = await connect(era, {
      startHost: async () => {
        started++
        await host.start()
        return host.find() ?? Promise.reject(new Error('not there'))
      },
    })
    expect(factsOf(await echo(client, 'hello')).output).toBe('hello\n')
    expect(started).toBe(1)
  })

  test('without a host it explains, and moves over once there is one', async () => {
    const client = await connect(era)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['status'])
    const status = await client.callTool({ name: 'status', arguments: {} })
    expect(status.isError).not.toBe(true)
    expect(textOf(status)).toContain('the data folder is read-only')
    expect(log).toEqual(['No host could be started: the data folder is read-only.'])
    const call = await echo(client, 'hello')
    expect(call.isError).toBe(true)
    expect(textOf(call)).toContain('cannot run commands now')
    await host.start()
    await expect.poll(async () => (await echo(client, 'back')).isError, { timeout: 20_000 }).toBeUndefined()
    expect((await client.listTools()).tools.length).toBeGreaterThan(1)
  })

  test('a host that comes back is gone on with; the call under way is answered with an error', async () => {
    await host.start()
    const client = await connect(era)
    const call = client.callTool({ name: 'run_command', arguments: { shell: 'sleep 300' } })
    await expect.poll(() => host.exec.processes.length).toBe(1)
    const answered = expect(call).rejects.toThrow(/went away while this call was under way/)
    await host.stop()
    await answered
    await host.start()
    expect(factsOf(await echo(client, 'again')).output).toBe('again\n')
    expect(host.record.sessions).toHaveLength(2)
  })

  test('a host that stays away is explained', async () => {
    await host.start()
    const client = await connect(era, { returnLimitMs: 50 })
    await client.listTools()
    await host.stop()
    await expect.poll(() => log).toContain('the host went away; waiting for it to come back')
    const call = await echo(client, 'x')
    expect(call.isError).toBe(true)
    expect(textOf(call)).toContain('run `gatehouse serve`')
  })

  test('A2 an agent that leaves ends the relay, its session and what it ran', async () => {
    await host.start()
    const client = await connect(era)
    void client.callTool({ name: 'run_command', arguments: { shell: 'sleep 300' } }).catch(() => {})
    await expect.poll(() => host.exec.processes.length).toBe(1)
    await client.close()
    await ended
    await expect.poll(() => host.record.ended.length).toBe(1)
    expect(isAlive(host.exec.processes[0]?.pid ?? 0)).toBe(false)
  })
})

test('an agent of the handshake era hears that the tools changed when the host does', async () => {
  await host.start()
  const client = await connect('legacy')
  let changes = 0
  client.setNotificationHandler('notifications/tools/list_changed', () => void changes++)
  await client.listTools()
  await host.stop()
  await host.start()
  await expect.poll(() => changes).toBe(1)
})

test('requests piped in with an end behind them are answered before the relay ends', async () => {
  await host.start()
  const { input, output } = startRelay()
  output.end(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pipe', version: '1' } } })}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n`,
  )
  await ended
  const answers = String((input as unknown as { read(): Buffer }).read())
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: number }).id)
  expect(answers).toEqual([1, 2])
})

test('an agent that leaves while a host is being started is not held', async () => {
  const { output } = startRelay({ startHost: () => new Promise(() => {}) })
  output.end()
  await ended
})

test('large answers pass whole, with separators of Unicode in them', async () => {
  await host.start()
  const client = await connect('legacy')
  await client.callTool({
    name: 'run_command',
    arguments: { shell: 'for i in $(seq 20000); do printf "line\\342\\200\\250%s\\n" "$i"; done' },
  })
  const page = factsOf(
    await client.callTool({ name: 'read_output', arguments: { processId: 'p1', maxBytes: 1_000_000 } }),
  )
  const expected = Array.from({ length: 20000 }, (_, at) => `line\u2028${at + 1}\n`).join('')
  expect(page.output).toBe(expected)
})
