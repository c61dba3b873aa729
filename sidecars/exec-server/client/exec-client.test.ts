import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ScriptedExecServer } from '../../testing/scripted-exec-server.ts'
import { unknown } from '../../protocol/decode.ts'
import { ExecClient, type ExecClientOptions } from './exec-client.ts'
import { ExecSessionLost, spawnErrorKindOf } from './exec-errors.ts'
import type { ExecProcess } from './exec-process.ts'
import type { ProcessOutput } from './process-event.ts'

const open: ExecClient[] = []
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

/** Short times, so that what is asked for after a while is asked for soon. */
function clientOf(server: ScriptedExecServer, options: Partial<ExecClientOptions> = {}): ExecClient {
  const client = new ExecClient({
    connect: server.connect,
    retryMs: 2,
    recoveryMs: 2000,
    holeGraceMs: 5,
    closeGraceMs: 10,
    ...options,
  })
  open.push(client)
  return client
}
const start = (client: ExecClient, processId = 'p', signal?: AbortSignal): Promise<ExecProcess> =>
  client.start({ argv: ['x'], cwd: '/', processId }, { signal })

async function collect(process: ExecProcess): Promise<ProcessOutput[]> {
  const outputs: ProcessOutput[] = []
  for await (const output of process.output) outputs.push(output)
  return outputs
}
const textOf = (outputs: ProcessOutput[]) =>
  outputs.map((o) => (o.kind === 'gap' ? `[gap ${o.fromSeq}-${o.toSeq}]` : Buffer.from(o.bytes).toString())).join('')

describe('connecting', () => {
  it('happens when first needed, and all first users share one attempt', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    expect(client.state).toBe('idle')
    expect(server.attempts).toBe(0)
    await Promise.all([start(client, 'a'), start(client, 'b'), client.readStatus()])
    expect(server.attempts).toBe(1)
    expect(server.requestsOf('initialize')).toEqual([{ clientName: 'gatehouse', resumeSessionId: null }])
  })

  it('fails for everybody who shared the attempt, and is tried again by the next call', async () => {
    const server = new ScriptedExecServer()
    server.refusals = 1
    const client = clientOf(server)
    const results = await Promise.allSettled([start(client, 'a'), start(client, 'b')])
    expect(results.map((r) => r.status)).toEqual(['rejected', 'rejected'])
    expect(client.state).toBe('idle')
    await start(client, 'c')
    expect(server.attempts).toBe(2)
  })

  it('is given up after its time', async () => {
    const client = clientOf(new ScriptedExecServer(), { connect: () => new Promise(() => {}), connectTimeoutMs: 10 })
    await expect(client.connect()).rejects.toThrow('no connection to the exec server within 10 ms')
  })

  it('a handshake without an answer is given up after its time', async () => {
    const server = new ScriptedExecServer()
    server.overrides.set('initialize', () => null)
    await expect(clientOf(server, { connectTimeoutMs: 10 }).connect()).rejects.toThrow(/initialize got no answer/)
  })

  it('one caller who gives up leaves the attempt to the others', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    const aborted = new AbortController()
    const first = start(client, 'a', aborted.signal)
    const second = start(client, 'b')
    aborted.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    expect((await second).id).toBe('b')
  })

  it('asks for the environment when the handshake did not tell, and lives without an answer', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    expect(await client.environment()).toBeUndefined()
    expect(server.requestsOf('environment/info')).toHaveLength(1)
    expect(await client.can('fsWatchMissing')).toBe(false)
  })

  it('an environment that does not decode fails the connection', async () => {
    const server = new ScriptedExecServer()
    server.overrides.set('initialize', () => ({ result: { sessionId: 's', environmentInfo: { capabilities: null } } }))
    await expect(clientOf(server).connect()).rejects.toThrow(/environmentInfo/)
  })

  it('a closed client refuses calls by name', async () => {
    const client = clientOf(new ScriptedExecServer())
    await client.close('the owner went home')
    await expect(start(client)).rejects.toMatchObject({ reason: 'closed-here', message: 'the owner went home' })
    expect(client.state).toBe('closed')
  })
})

describe('the events of a process', () => {
  it('are taken even when they come before the answer to its start', async () => {
    const server = new ScriptedExecServer()
    server.onStart = (process) => {
      process.output('fast')
      process.exit(3)
      process.close()
    }
    const process = await start(clientOf(server))
    expect(textOf(await collect(process))).toBe('fast')
    expect(await process.exited).toEqual({ exitCode: 3, sandboxDenied: false })
  })

  it('E16 output after the exit is delivered, and a close without a number ends it', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    let isClosed = false
    void process.closed.then(() => (isClosed = true))
    server.notify('process/exited', { processId: 'p', seq: 1, exitCode: 0 })
    expect(await process.exited).toEqual({ exitCode: 0, sandboxDenied: false })
    expect(isClosed).toBe(false)
    server.notify('process/output', { processId: 'p', seq: 2, stream: 'stdout', chunk: 'b25lCnR3bwo=' })
    server.notify('process/closed', { processId: 'p' })
    expect(textOf(await collect(process))).toBe('one\ntwo\n')
    await process.closed
  })

  it('E16 a close that never comes is asked for after a grace time', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.isHolding = true
    server.process('p').output('last words')
    server.process('p').exit(0)
    server.process('p').close()
    server.release([0, 1])
    expect(textOf(await collect(process))).toBe('last words')
    await process.closed
    expect(server.requestsOf('process/read').length).toBeGreaterThan(0)
  })

  it('E16 a server that cannot say is not waited for', async () => {
    const server = new ScriptedExecServer()
    server.overrides.set('process/read', () => ({ error: { code: -32601, message: 'no such method' } }))
    const process = await start(clientOf(server))
    server.process('p').exit(7)
    await process.closed
    expect(await process.exited).toMatchObject({ exitCode: 7 })
  })

  it('E15 an exit with its output still open is known at once, and the end when it comes', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.process('p').output('parent\n')
    server.process('p').exit(0)
    expect(await process.exited).toMatchObject({ exitCode: 0 })
    await vi.waitUntil(() => server.requestsOf('process/read').length >= 2, 20_000)
    server.process('p').output('late\n')
    server.process('p').close()
    expect(textOf(await collect(process))).toBe('parent\nlate\n')
  })

  it('come in order and once, whatever order and number they arrive in', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.isHolding = true
    for (const text of ['a', 'b', 'c']) server.process('p').output(text)
    server.process('p').exit(0)
    server.process('p').close()
    server.release([4, 2, 2, 0, 3, 1, 0])
    expect(textOf(await collect(process))).toBe('abc')
  })

  it('that got lost on the way are read from the server', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.isHolding = true
    for (const text of ['a', 'b', 'c', 'd']) server.process('p').output(text)
    server.release([0, 3])
    server.isHolding = false
    server.process('p').exit(0)
    server.process('p').close()
    expect(textOf(await collect(process))).toBe('abcd')
  })

  it('that the server let go are a gap that says so', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.isHolding = true
    for (const text of ['a', 'b', 'c', 'd', 'e']) server.process('p').output(text)
    server.process('p').retainedAfterSeq = 3
    server.release([0, 4])
    server.isHolding = false
    server.process('p').exit(0)
    server.process('p').close()
    expect(textOf(await collect(process))).toBe('a[gap 2-3]de')
  })

  it('of one process are not held up by another that nobody reads', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server, { bufferBytes: 1000 })
    await start(client, 'idle')
    const busy = await start(client, 'busy')
    for (let i = 0; i < 100; i++) server.process('idle').output('x'.repeat(100))
    server.process('busy').output('done')
    server.process('busy').exit(0)
    server.process('busy').close()
    expect(textOf(await collect(busy))).toBe('done')
  })

  it('for processes nobody knows, and of unknown kinds, are ignored', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    const process = await start(client)
    server.notify('process/output', { processId: 'stranger', seq: 1, stream: 'stdout', chunk: 'eA==' })
    server.notify('something/new', { any: 'thing' })
    server.process('p').exit(0)
    server.process('p').close()
    await process.closed
    expect(server.attempts).toBe(1)
  })
})

describe('a slow reader', () => {
  it('gets every byte although little is kept here', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server, { bufferBytes: 2000 }))
    const sent: string[] = []
    const reading = (async () => {
      const outputs: ProcessOutput[] = []
      for await (const output of process.output) {
        outputs.push(output)
        await wait(0)
      }
      return outputs
    })()
    for (let i = 0; i < 400; i++) {
      sent.push(`line ${i}\n`)
      server.process('p').output(`line ${i}\n`)
      if (i % 50 === 0) await wait(1)
    }
    server.process('p').exit(0)
    server.process('p').close()
    expect(textOf(await reading)).toBe(sent.join(''))
  })

  it('who comes late starts at the beginning', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server, { bufferBytes: 500 }))
    for (let i = 0; i < 50; i++) server.process('p').output(`${i},`)
    server.process('p').exit(0)
    server.process('p').close()
    await process.closed
    const expected = Array.from({ length: 50 }, (_, i) => `${i},`).join('')
    expect(textOf(await collect(process))).toBe(expected)
    expect(textOf(await collect(process))).toBe(expected)
  })

  it('learns which range is gone when the server kept less than was missed', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server, { bufferBytes: 500 }))
    for (let i = 1; i <= 50; i++) server.process('p').output(`${i},`)
    server.process('p').exit(0)
    server.process('p').close()
    await process.closed
    server.process('p').retainedAfterSeq = 10
    const outputs = await collect(process)
    expect(outputs[0]).toEqual({ kind: 'gap', fromSeq: 1, toSeq: 10 })
    expect(textOf(outputs.slice(1))).toBe(Array.from({ length: 40 }, (_, i) => `${i + 11},`).join(''))
  })

  it('still gets what is here when the server has forgotten the process', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server, { bufferBytes: 500 }))
    for (let i = 1; i <= 50; i++) server.process('p').output(`${i},`)
    server.process('p').exit(0)
    server.process('p').close()
    await process.closed
    server.processes.delete('p')
    const [first, ...rest] = await collect(process)
    expect(first).toMatchObject({ kind: 'gap', fromSeq: 1 })
    expect(textOf(rest)).toMatch(/^\d+,.*50,$/)
  })

  it('can stop waiting', async () => {
    const process = await start(clientOf(new ScriptedExecServer()))
    const reader = process.readOutput({ signal: AbortSignal.timeout(5) })
    await expect(reader.next()).rejects.toThrow(/timeout|aborted/)
  })
})

describe('a lost connection', () => {
  it('E113 is resumed, and nothing is lost, doubled or started twice', async () => {
    const server = new ScriptedExecServer()
    const states: string[] = []
    const client = clientOf(server, { onStateChange: (state) => states.push(state) })
    const process = await start(client)
    const reading = collect(process)
    const expected: string[] = []
    for (let i = 1; i <= 50; i++) {
      expected.push(`${i}\n`)
      server.process('p').output(`${i}\n`)
      if (i === 10 || i === 30) server.cut()
      if (i % 10 === 0) await wait(3)
    }
    server.process('p').exit(0)
    server.process('p').close()
    expect(textOf(await reading)).toBe(expected.join(''))
    expect(await process.exited).toEqual({ exitCode: 0, sandboxDenied: false })
    expect(server.requestsOf('process/start')).toHaveLength(1)
    expect(server.requestsOf('initialize').map((p) => p.resumeSessionId)).toEqual([null, 'session-1', 'session-1'])
    expect(states).toEqual(['connecting', 'ready', 'recovering', 'ready', 'recovering', 'ready'])
  })

  it('learns of an exit and a close that happened meanwhile', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.process('p').output('before ')
    server.cut()
    server.process('p').output('meanwhile')
    server.process('p').exit(6)
    server.process('p').close()
    expect(textOf(await collect(process))).toBe('before meanwhile')
    expect(await process.exited).toEqual({ exitCode: 6, sandboxDenied: false })
  })

  it('tells an exit between outputs from lost output', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.process('p').output('1')
    server.cut()
    for (const text of ['2', '3', '4']) server.process('p').output(text)
    server.process('p').exit(5)
    server.process('p').output('late')
    server.process('p').close()
    server.process('p').retainedAfterSeq = 3
    expect(textOf(await collect(process))).toBe('1[gap 2-3]4late')
    expect(await process.exited).toMatchObject({ exitCode: 5 })
  })

  it('E113 a write whose answer was lost is written once', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    let isFirst = true
    server.overrides.set('process/write', (params) => {
      if (!isFirst) return undefined
      isFirst = false
      server.process('p').writes.push(params as never)
      server.cut()
      return null
    })
    expect(await process.write(Buffer.from('once'))).toBe('accepted')
    expect(server.requestsOf('process/write')).toHaveLength(2)
    expect(server.process('p').writes).toHaveLength(1)
  })

  it('a start whose answer was lost is found again, not started twice', async () => {
    const server = new ScriptedExecServer()
    server.onStart = (process) => {
      process.output('hello')
      server.cut()
    }
    const client = clientOf(server)
    const process = await start(client)
    expect(server.requestsOf('process/start')).toHaveLength(2)
    server.process('p').exit(0)
    server.process('p').close()
    expect(textOf(await collect(process))).toBe('hello')
  })

  it('requests in flight fail by name, requests made meanwhile wait', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    await client.connect()
    server.overrides.set('environment/status', () => {
      server.overrides.delete('environment/status')
      server.cut()
      return null
    })
    await expect(client.readStatus()).rejects.toMatchObject({ code: 'disconnected' })
    expect(await client.readStatus()).toBe('ready')
  })

  it('is tried again and again, also while another connection holds the session', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    const process = await start(client)
    let refusals = 3
    server.overrides.set('initialize', () =>
      refusals-- > 0 ? { error: { code: -32010, message: 'session is already attached' } } : undefined,
    )
    server.refusals = 3
    server.cut()
    server.process('p').exit(0)
    server.process('p').close()
    await process.closed
    expect(server.attempts).toBe(1 + 3 + 3 + 1)
  })

  it('E114 that nobody noticed is found out when asked about', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    const process = await start(client)
    await client.confirmConnection(1000)
    expect(server.attempts).toBe(1)
    server.overrides.set('environment/status', () => null)
    await client.confirmConnection(5)
    await vi.waitUntil(() => server.attempts === 2, 20_000)
    server.process('p').exit(0)
    server.process('p').close()
    await process.closed
  })

  it('E113 beyond its time is one named error for every reader, stream and call', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server, { recoveryMs: 20 })
    const process = await start(client)
    const other = await start(client, 'q')
    const readers = [collect(process), collect(other), process.exited, other.closed, process.closed]
    const waiting = Promise.allSettled(readers)
    server.refusals = 1_000_000
    server.cut()
    const errors = (await waiting).map((r) => (r.status === 'rejected' ? r.reason : null))
    expect(new Set(errors).size).toBe(1)
    expect(errors[0]).toBeInstanceOf(ExecSessionLost)
    expect(errors[0]).toMatchObject({ reason: 'recovery-timed-out', code: 'disconnected' })
    await expect(process.write(Buffer.from('x'))).rejects.toBe(errors[0])
    expect(await process.read(0, { waitMs: 60_000 })).toMatchObject({ closed: true, failure: errors[0] })
  })

  it('to a server that does not know the session any more is not tried again', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    const process = await start(client)
    server.forgetSession()
    server.cut()
    await expect(process.exited).rejects.toMatchObject({
      reason: 'session-unknown',
      message: 'the exec server refused the session: unknown session id session-1',
    })
    expect(server.attempts).toBe(2)
    expect(await client.readStatus()).toBe('ready')
    expect(client.sessionId).toBe('session-2')
  })

  it('what was read before the loss can still be read', async () => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.process('p').output('kept')
    await vi.waitUntil(async () => (await process.readOutput().next()).value, 20_000)
    server.forgetSession()
    server.cut()
    const outputs: ProcessOutput[] = []
    await expect(
      (async () => {
        for await (const output of process.output) outputs.push(output)
      })(),
    ).rejects.toBeInstanceOf(ExecSessionLost)
    expect(textOf(outputs)).toBe('kept')
  })

  it('is tried again at uneven times, so that many clients do not knock in the same instant', async () => {
    const server = new ScriptedExecServer()
    const times: number[] = []
    const client = clientOf(server, {
      connect: (signal) => {
        times.push(performance.now())
        return server.connect(signal)
      },
      retryMs: 20,
      recoveryMs: 200,
    })
    await client.connect()
    server.refusals = 1_000_000
    server.cut()
    await vi.waitUntil(() => client.state === 'idle', { timeout: 20_000 })
    const pauses = times.slice(2).map((time, i) => Math.round(time - (times[i + 1] as number)))
    expect(new Set(pauses).size).toBeGreaterThan(1)
  })
})

describe('a server that misbehaves', () => {
  it.each([
    ['text that is no message', 'server ready on port 0'],
    ['an output that does not decode', '{"method":"process/output","params":{"processId":"p"}}'],
    ['an exit without a number', '{"method":"process/exited","params":{"processId":"p","exitCode":0}}'],
  ])('by sending %s loses the connection, not the session', async (_, text) => {
    const server = new ScriptedExecServer()
    const process = await start(clientOf(server))
    server.sendRaw(text)
    await vi.waitUntil(() => server.attempts === 2, 20_000)
    server.process('p').output('still here')
    server.process('p').exit(0)
    server.process('p').close()
    expect(textOf(await collect(process))).toBe('still here')
  })

  it('E07 noise on a line carrier is skipped and told, and the session goes on', async () => {
    const server = new ScriptedExecServer()
    const oddities: string[] = []
    const client = clientOf(server, {
      connect: async (signal) => ({ ...(await server.connect(signal)), toleratesNoise: true }),
      onOddity: (message) => oddities.push(message),
    })
    const process = await start(client)
    server.sendRaw('server ready on port 0')
    server.process('p').exit(0)
    server.process('p').close()
    await process.closed
    expect(server.attempts).toBe(1)
    expect(oddities[0]).toMatch(/skipped a line that is no message/)
  })

  it('unmatched answers are ignored', async () => {
    const server = new ScriptedExecServer()
    const client = clientOf(server)
    await client.connect()
    server.sendRaw('{"id":999,"result":{}}')
    server.sendRaw('{"error":{"code":-32600,"message":"what?"},"id":-1}')
    expect(await client.readStatus()).toBe('ready')
    expect(server.attempts).toBe(1)
  })

  it('its requests are answered: hosts are decided by the owner, the rest is unknown', async () => {
    const server = new ScriptedExecServer()
    const asked: unknown[] = []
    const client = clientOf(server, {
      onPolicyRequest: async (request) => {
        asked.push(request)
        return { type: 'allow' }
      },
    })
    await start(client)
    const params = { processId: 'p', request: { protocol: 'http', host: 'example.test', port: 80 } }
    server.sendRaw(JSON.stringify({ id: 1, method: 'network/policyRequest', params }))
    server.sendRaw(JSON.stringify({ id: 2, method: 'network/policyRequest', params: { ...params, processId: 'q' } }))
    server.sendRaw(JSON.stringify({ id: 3, method: 'other/thing', params: {} }))
    await vi.waitUntil(() => server.answers.length === 3, 20_000)
    expect([...server.answers].sort((a, b) => Number('id' in a && a.id) - Number('id' in b && b.id))).toEqual([
      { kind: 'result', id: 1, result: { decision: { type: 'allow' } } },
      { kind: 'result', id: 2, result: { decision: { type: 'deny', reason: 'unknown process' } } },
      {
        kind: 'error',
        id: 3,
        error: { code: -32601, message: 'exec-server client does not implement `other/thing` yet' },
      },
    ])
    expect(asked).toHaveLength(1)
  })
})

describe('starting', () => {
  it('hands on why it did not start', async () => {
    const server = new ScriptedExecServer()
    server.overrides.set('process/start', () => ({
      error: { code: -32603, message: 'No such file or directory (os error 2)', data: { kind: 'spawnNotFound' } },
    }))
    const error: unknown = await start(clientOf(server)).catch((e: unknown) => e)
    expect(spawnErrorKindOf(error)).toBe('spawnNotFound')
  })

  it('refuses a relative folder before asking anybody', async () => {
    const server = new ScriptedExecServer()
    await expect(clientOf(server).start({ argv: ['x'], cwd: 'here' })).rejects.toThrow('is not an absolute path')
    expect(server.requestsOf('process/start')).toHaveLength(0)
  })

  it('that is given up while it waits for a decision is withdrawn, and the answer awaited', async () => {
    const server = new ScriptedExecServer()
    let refuse = () => {}
    server.overrides.set('process/start', () => null)
    server.overrides.set('process/terminate', () => {
      setTimeout(() => refuse(), 5)
      return { result: { running: true } }
    })
    const client = clientOf(server)
    const abort = new AbortController()
    const starting = start(client, 'p', abort.signal)
    await vi.waitUntil(() => server.requestsOf('process/start').length === 1, 20_000)
    refuse = () => server.sendRaw('{"error":{"code":-32603,"message":"withdrawn"},"id":3}')
    abort.abort(new Error('changed my mind'))
    await expect(starting).rejects.toThrow('changed my mind')
    expect(server.requestsOf('process/terminate')).toEqual([{ processId: 'p' }])
  })

  it('that succeeds although it was given up is ended again', async () => {
    const server = new ScriptedExecServer()
    const abort = new AbortController()
    server.onStart = () => abort.abort(new Error('too late'))
    await expect(start(clientOf(server), 'p', abort.signal)).rejects.toThrow('too late')
    expect(server.requestsOf('process/terminate').length).toBeGreaterThan(0)
  })

  it('the same id twice is refused here', async () => {
    const client = clientOf(new ScriptedExecServer())
    await start(client)
    await expect(start(client)).rejects.toThrow('already has a process with id p')
  })
})

it('closing ends what still runs', async () => {
  const server = new ScriptedExecServer()
  const client = clientOf(server)
  const process = await start(client)
  await client.close()
  expect(server.requestsOf('process/terminate')).toEqual([{ processId: 'p' }])
  await expect(process.exited).rejects.toMatchObject({ reason: 'closed-here' })
})

it('any other method can be called', async () => {
  const server = new ScriptedExecServer()
  server.overrides.set('extra/method', (params) => ({ result: params }))
  expect(await clientOf(server).request('extra/method', { a: 1 }, unknown)).toEqual({ a: 1 })
})
