import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { unknown } from '../../protocol/decode.ts'
import {
  processChanged,
  processList,
  processMembers,
  processReadResult,
  type ProcessFacts,
} from '../../protocol/host-channel.ts'
import { connectUnix } from '../../rpc/unix-socket.ts'
import { READ_ONLY, sandboxOf, WORKSPACE_WRITE } from '../../testing/confined-commands.ts'
import { DecidingHost, type Question } from '../../testing/deciding-host.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'
import { isAlive } from '../../testing/is-alive.ts'
import { launchSidecar, type LaunchedSidecar } from '../../testing/launched-sidecar.ts'

const AGENT_TOKEN = 'agent-token'
const INTERNAL_TOKEN = 'internal-token'
let folder: string
let sidecar: LaunchedSidecar
let client: ExecWireClient
const owner = new DecidingHost()
const changes: ProcessFacts[] = []
const forgotten: string[] = []

const config = (changed: object = {}) => ({
  socketPath: join(folder, 'run', 'exec.sock'),
  internalToken: INTERNAL_TOKEN,
  websocket: { port: 0, token: AGENT_TOKEN },
  spoolBytes: 8 * 1024 * 1024,
  baseEnvironment: { PATH: '/usr/bin:/bin', FROM_LOGIN_SHELL: 'yes' },
  ...changed,
})
const connectAgent = () =>
  ExecWireClient.open(sidecar.ready.endpoints.ws as string, undefined, { authorization: `Bearer ${AGENT_TOKEN}` })
const request = <T>(method: string, params: object, decoder: (value: unknown, path: string) => T) =>
  sidecar.host.request(method, params, decoder, { timeoutMs: 20_000 })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-host-'))
  mkdirSync(join(folder, 'run'), { mode: 0o700 })
  sidecar = await launchSidecar(
    'exec-server',
    { dataDir: folder, runDir: join(folder, 'run'), config: config() },
    (host) => {
      owner.register(host)
      host.onNotification('processes/changed', processChanged, ({ process }) => void changes.push(process))
      host.onNotification(
        'processes/forgotten',
        unknown,
        (params) => void forgotten.push((params as { id: string }).id),
      )
    },
  )
  client = await connectAgent()
})
afterAll(async () => {
  client.drop()
  await sidecar.shutdown()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  owner.questions.length = 0
  owner.policy = (question) => question.allow()
})
const factsOf = (clientProcessId: string) => changes.findLast((facts) => facts.clientProcessId === clientProcessId)

describe('the gate', () => {
  it('asks about exactly what would run, and gives the child what the answer brings', async () => {
    const process = client.run(['/usr/bin/env'], { env: { ONLY: '1' }, metadata: { toolCallId: 'call_7' } })
    await process.closed()
    const [question] = owner.questions
    expect(question).toMatchObject({
      gate: 'observe',
      origin: { sessionId: `ses_${client.sessionId}`, toolCallId: 'call_7' },
      subject: { kind: 'command', argv: ['/usr/bin/env'], cwd: '/tmp', tty: false, stdin: 'none', sandbox: 'none' },
    })
    const { envChanges } = (question as Question).subject as { envChanges: Record<string, string | null> }
    expect(envChanges).toMatchObject({ ONLY: '1', FROM_LOGIN_SHELL: null, PATH: null })
    expect(Object.keys(envChanges)).toEqual(Object.keys(envChanges).sort())
    const variables = Object.fromEntries(
      process
        .text()
        .trim()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    )
    expect(variables).toEqual({
      ONLY: '1',
      HTTP_PROXY: 'http://lease@127.0.0.1:1',
      GATEHOUSE_PROCESS_ID: factsOf(process.id)?.id,
    })
  })

  it('lays the login shell below the policy of the client', async () => {
    const envPolicy = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] }
    const process = await client.run(['/usr/bin/env'], { env: {}, envPolicy }).closed()
    expect(process.text()).toContain('FROM_LOGIN_SHELL=yes\n')
    expect(owner.questions[0]?.subject).toMatchObject({ envChanges: {} })
  })

  it('says what the sandbox refused when the same command is started again without it', async () => {
    const line = ['/bin/sh', '-c', 'echo x > /etc/gatehouse-test']
    const sandbox = sandboxOf({ root: folder, entries: READ_ONLY })
    expect((await client.run(line, { sandbox }).closed()).exitCode).toBe(2)
    owner.policy = (question) => question.deny('no')
    await client.run(['/bin/sh', '-c', 'true']).started
    await client.run(line).started
    expect(owner.questions.map(({ refused }) => refused)).toEqual([
      undefined,
      undefined,
      expect.stringMatching(/gatehouse-test: Read-only file system$/),
    ])
  })

  it('runs nothing that was denied, and hands the words on', async () => {
    owner.policy = (question) => question.deny('not on a Friday')
    const canary = join(folder, 'RAN')
    expect(await client.run(['touch', canary]).started).toMatchObject({
      error: { code: -32603, message: 'not on a Friday', data: { kind: 'denied', reason: 'not on a Friday' } },
    })
    expect(existsSync(canary)).toBe(false)
  })

  it('runs nothing on a decision that was made for something else', async () => {
    owner.policy = (question) => {
      ;(question.subject as { argv: string[] }).argv = ['true']
      question.allow()
    }
    const canary = join(folder, 'RAN2')
    const { error } = await client.run(['touch', canary]).started
    expect(error?.data).toMatchObject({ kind: 'denied' })
    expect(existsSync(canary)).toBe(false)
  })

  it('holds the process as starting, and withdraws the question when it is terminated', async () => {
    owner.policy = null
    const process = client.run(['sleep', '60'])
    await expect.poll(() => owner.questions.length).toBe(1)
    expect(factsOf(process.id)).toMatchObject({ state: 'starting', pid: null })
    expect(await client.ask('process/read', { processId: process.id })).toMatchObject({
      error: { code: -32600, message: `process id ${process.id} is starting` },
    })
    expect((await process.write('x')).result).toEqual({ status: 'starting' })
    expect(await process.terminate()).toEqual({ running: true })
    expect(await process.started).toMatchObject({ error: { code: -32603 } })
    await expect.poll(() => owner.questions[0]?.isWithdrawn).toBe(true)
    await expect.poll(() => factsOf(process.id)?.state).toBe('failed')
  })

  it('counts the time of a process from when it runs, not from when it was asked for', async () => {
    owner.policy = null
    const process = client.run(['true'])
    await expect.poll(() => owner.questions.length).toBe(1)
    const askedAtMs = factsOf(process.id)?.startedAtMs ?? Infinity
    while (Date.now() <= askedAtMs) await new Promise((resolve) => setTimeout(resolve, 1))
    const answeredAtMs = Date.now()
    owner.questions[0]?.allow()
    await process.closed()
    expect(askedAtMs).toBeLessThan(answeredAtMs)
    await expect.poll(() => factsOf(process.id)?.startedAtMs).toBeGreaterThanOrEqual(answeredAtMs)
  })

  it('withdraws the question when the asking connection ends', async () => {
    owner.policy = null
    const other = await connectAgent()
    void other.run(['sleep', '60'])
    await expect.poll(() => owner.questions.length).toBe(1)
    other.drop()
    await expect.poll(() => owner.questions[0]?.isWithdrawn).toBe(true)
  })

  it('is asked in the mode that is in force, which can change at any time', async () => {
    await request(
      'sidecar/configure',
      { config: config({ agentGate: 'enforce', baseEnvironment: { PATH: '/bin' } }) },
      unknown,
    )
    await client.run(['true']).closed()
    expect(owner.questions[0]?.gate).toBe('enforce')
    await request('sidecar/configure', { config: config() }, unknown)
    await expect(
      request('sidecar/configure', { config: config({ internalToken: 'x' }) }, unknown),
    ).rejects.toMatchObject({
      code: 'invalidParams',
      message: expect.stringContaining('internalToken'),
    })
  })

  it('is asked about changes of files, too', async () => {
    const path = join(folder, 'written')
    owner.policy = (question) => question.deny('hands off')
    expect(await client.ask('fs/writeFile', { path: `file://${path}`, dataBase64: 'QQ==' })).toHaveProperty('error')
    expect(existsSync(path)).toBe(false)
    expect(owner.questions[0]?.subject).toMatchObject({
      kind: 'fileChange',
      changes: [{ path, kind: 'add', outsideRoots: true }],
    })
    owner.policy = (question) => question.allow()
    expect(await client.ask('fs/writeFile', { path: `file://${path}`, dataBase64: 'QQ==' })).toHaveProperty('result')
    expect(existsSync(path)).toBe(true)
  })
})

it('a change of a file is inside only of what its own sandbox lets it write', async () => {
  // Beside the folder of the servers, which is closed to every sandbox.
  const [inside, outside] = [`${folder}-inside`, `${folder}-beside`]
  const sandbox = sandboxOf({ root: inside, entries: WORKSPACE_WRITE })
  const unconfined = { ...sandbox, permissions: { type: 'disabled' } }
  owner.policy = (question) => question.deny('only asked')
  const write = (path: string, more: object) =>
    client.ask('fs/writeFile', { path: `file://${path}`, dataBase64: 'QQ==', ...more })
  for (const more of [{ sandbox }, { sandbox: unconfined }])
    for (const path of [join(inside, 'f'), join(outside, 'f'), `${inside}/../${basename(outside)}/f`])
      await write(path, more)
  await write(join(inside, '.git/hooks/pre-commit'), { sandbox })
  await write(join(inside, 'f'), {})
  const isOutside = owner.questions.map(
    ({ subject }) => subject.kind === 'fileChange' && subject.changes[0]?.outsideRoots,
  )
  expect(isOutside).toEqual([false, true, true, false, true, true, true, true])
})

describe('a change of a file behind a link', () => {
  it('E124 is asked about with the place it leads to, and is not made when that changes meanwhile', async () => {
    const [outside, other] = [join(folder, 'outside'), join(folder, 'other')]
    mkdirSync(outside)
    mkdirSync(other)
    const link = join(folder, 'libs')
    symlinkSync(outside, link)
    const write = () => client.ask('fs/writeFile', { path: `file://${link}/new.txt`, dataBase64: 'QQ==' })
    owner.policy = (question) => question.allow()
    expect(await write()).toHaveProperty('result')
    expect(owner.questions[0]?.subject).toMatchObject({
      changes: [{ path: join(outside, 'new.txt'), namedPath: `${link}/new.txt`, kind: 'add' }],
    })
    expect(existsSync(join(outside, 'new.txt'))).toBe(true)
    owner.policy = (question) => {
      unlinkSync(link)
      symlinkSync(other, link)
      question.allow()
    }
    expect(await write()).toHaveProperty('error')
    expect(existsSync(join(other, 'new.txt'))).toBe(false)
  })
})

describe('a folder that is exchanged for a link all the time', () => {
  /** Exchanges `kept/in` for a link to `elsewhere` and back, as quickly as it goes, until it is killed. */
  const EXCHANGER = `
import os, sys
os.chdir(sys.argv[1]); print("up", flush=True)
while True:
  os.rename("in", "real"); os.symlink("../elsewhere", "in")
  os.remove("in"); os.rename("real", "in")
`
  let exchanger: ChildProcess
  let base: string
  beforeEach(async () => {
    base = mkdtempSync(join(folder, 'swap-'))
    for (const name of ['kept/in/tree/deep', 'elsewhere/tree/deep', 'source'])
      mkdirSync(join(base, name), { recursive: true })
    writeFileSync(join(base, 'source/f'), 'x')
    for (const name of ['kept/in', 'elsewhere']) writeFileSync(join(base, name, 'old'), 'kept')
    exchanger = spawn('python3', ['-c', EXCHANGER, join(base, 'kept')], { stdio: ['ignore', 'pipe', 'ignore'] })
    await once(exchanger.stdout!, 'data')
  })
  afterEach(() => void exchanger.kill('SIGKILL'))

  it('gets no change past what was decided: nothing appears, changes or goes on the other side', async () => {
    const at = (name: string) => `file://${base}/kept/in/${name}`
    const isElsewhere = ({ subject }: Question) =>
      subject.kind === 'fileChange' && subject.changes.some(({ path }) => path.startsWith(join(base, 'elsewhere')))
    owner.policy = (question) => (isElsewhere(question) ? question.deny('not there') : question.allow())
    let done = 0
    // Now and then the exchange is always quicker, sixty times over.
    for (let i = 0; i < 60 || done === 0; i++) {
      const source = `file://${base}/source`
      const answers = await Promise.all([
        client.ask('fs/writeFile', { path: at(`new-${i}`), dataBase64: 'QQ==' }),
        client.ask('fs/writeFile', { path: at('old'), dataBase64: 'QQ==' }),
        client.ask('fs/createDirectory', { path: at(`folder-${i}/below`) }),
        client.ask('fs/copy', { sourcePath: source, destinationPath: at(`copy-${i}`), recursive: true }),
        client.ask('fs/open', { handleId: `h${i}`, path: at(`opened-${i}`), mode: 'replace' }),
        client.ask('fs/remove', { path: at('tree') }),
      ])
      await client.ask('fs/close', { handleId: `h${i}` })
      done += answers.filter((answer) => !('error' in answer)).length
    }
    expect(readdirSync(join(base, 'elsewhere'), { recursive: true }).sort()).toEqual(['old', 'tree', 'tree/deep'])
    expect(readFileSync(join(base, 'elsewhere/old'), 'utf8')).toBe('kept')
  })
})

describe('our own programs on the private socket', () => {
  const attach = async (token: string) => {
    const socket = await connectUnix(config().socketPath)
    const lines: string[] = []
    let rest = ''
    socket.on('data', (bytes: Buffer) => {
      const parts = (rest + String(bytes)).split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts)
    })
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.write(`${JSON.stringify({ gatehouse: 'attach', token, name: 'mcp-server' })}\n`)
    return { socket, lines, closed, send: (value: object) => socket.write(`${JSON.stringify(value)}\n`) }
  }

  it('act for the session they name, with the gate they choose; agents cannot', async () => {
    const { send, lines, socket } = await attach(INTERNAL_TOKEN)
    send({ id: 1, method: 'initialize', params: { clientName: 'mcp' } })
    send({ method: 'initialized' })
    const metadata = { gatehouse: { sessionId: 'ses_other', toolCallId: 'call_1', gate: 'ask' } }
    const start = { argv: ['true'], cwd: 'file:///tmp', env: {}, tty: false, metadata }
    send({ id: 2, method: 'process/start', params: { processId: 'i', ...start } })
    await expect.poll(() => lines.filter((line) => line.includes('process/closed')).length).toBe(1)
    expect(owner.questions[0]).toMatchObject({ gate: 'ask', origin: { sessionId: 'ses_other', toolCallId: 'call_1' } })
    expect(factsOf('i')).toMatchObject({ sessionId: 'ses_other' })
    owner.questions.length = 0
    await client.run(['true'], { metadata }).closed()
    expect(owner.questions[0]).toMatchObject({ gate: 'observe', origin: { sessionId: `ses_${client.sessionId}` } })
    socket.destroy()
  })

  it('are refused without the right token', async () => {
    const { closed, lines } = await attach('wrong')
    await closed
    expect(lines.join()).toContain('refused')
  })

  it('is the only way in beside the token: the WebSocket takes no stranger', async () => {
    await expect(ExecWireClient.connect(sidecar.ready.endpoints.ws as string)).rejects.toThrow('401')
  })
})

describe('what the host sees', () => {
  it('are the sessions of agents and only those', async () => {
    const other = await connectAgent()
    await expect
      .poll(() => owner.sessions.find(({ id }) => id === `ses_${other.sessionId}`))
      .toMatchObject({ agentName: 'test', via: 'exec-ws' })
    expect(owner.sessions.some(({ agentName }) => agentName === 'mcp')).toBe(false)
    other.drop()
  })

  it('is each process with its state, and why it ended', async () => {
    const process = await client.run(['sh', '-c', 'echo hi; kill -TERM $$']).closed()
    await expect.poll(() => factsOf(process.id)?.state).toBe('closed')
    expect(factsOf(process.id)).toMatchObject({
      argv: ['sh', '-c', 'echo hi; kill -TERM $$'],
      cwd: '/tmp',
      exitCode: 143,
      exitSignal: 'SIGTERM',
      outputBytes: 3,
      nextSeq: 4,
      acceptsInput: false,
    })
    const { processes } = await request('processes/list', {}, processList)
    expect(processes.find(({ clientProcessId }) => clientProcessId === process.id)).toEqual(factsOf(process.id))
    const states = changes.filter(({ clientProcessId }) => clientProcessId === process.id).map(({ state }) => state)
    expect([...new Set(states)]).toEqual(['starting', 'running', 'exited', 'closed'])
  })

  it('E08 is output by cursor from memory and disk, with a marker where some was dropped', async () => {
    const process = await client.run(['sh', '-c', 'head -c 40000000 /dev/zero; echo END']).closed()
    const id = factsOf(process.id)?.id
    let bytes = 0
    let last = ''
    const gaps: { bytes: number }[] = []
    for (let afterSeq = 0; ;) {
      const page = await request('processes/read', { id, afterSeq, maxBytes: 1_000_000 }, processReadResult)
      if (page.gap) gaps.push(page.gap)
      if (page.chunks.length === 0) break
      for (const { base64, seq } of page.chunks) {
        bytes += Buffer.from(base64, 'base64').length
        last = Buffer.from(base64, 'base64').toString()
        afterSeq = seq
      }
    }
    expect(gaps).toHaveLength(1)
    expect(bytes + (gaps[0]?.bytes ?? 0)).toBe(40_000_004)
    expect(last.endsWith('END\n')).toBe(true)
    expect(bytes).toBeGreaterThan(7_000_000)
  })

  it('waits for output when asked to, and stops waiting when told', async () => {
    const process = await client.run(['cat'], { pipeStdin: true }).running()
    const id = factsOf(process.id)?.id
    const waiting = request('processes/read', { id, waitMs: 60_000 }, processReadResult)
    await request('processes/write', { id, base64: Buffer.from('typed').toString('base64') }, unknown)
    expect((await waiting).chunks).toEqual([{ seq: 1, stream: 'stdout', base64: 'dHlwZWQ=' }])
    const controller = new AbortController()
    const given = sidecar.host.request('processes/read', { id, afterSeq: 1, waitMs: 60_000 }, unknown, {
      signal: controller.signal,
    })
    controller.abort()
    await expect(given).rejects.toMatchObject({ code: 'cancelled' })
    await request('processes/endInput', { id }, unknown)
    expect((await process.closed()).exitCode).toBe(0)
    await expect(request('processes/write', { id, base64: '' }, unknown)).rejects.toThrow('closed')
  })

  it('is the whole tree, setsid children included, and E20 a signal that names who was hit', async () => {
    const script = 'setsid sleep 986.1 </dev/null >/dev/null 2>&1 & echo go; sleep 986.2; true'
    const process = await client.run(['bash', '-c', script]).running()
    await process.said('go')
    const id = factsOf(process.id)?.id
    const members = async () => (await request('processes/members', { id }, processMembers)).members
    await expect.poll(async () => (await members()).map(({ name }) => name)).toEqual(['bash', 'sleep', 'sleep'])
    const [root, ...others] = await members()
    expect(root).toMatchObject({ ownGroup: true, pid: factsOf(process.id)?.pid })
    expect(root?.rssBytes).toBeGreaterThan(100_000)
    expect(others.map(({ ownGroup }) => ownGroup).sort()).toEqual([false, true])
    const hit = (await request('processes/signal', { id, signal: 'terminate' }, processMembers)).members
    expect(hit.map(({ pid }) => pid).sort()).toEqual([root, ...others].map((member) => member?.pid).sort())
    await process.closed()
    await expect.poll(members).toEqual([])
  })

  it('E20 finds a daemon by its marker and says that it was stopped with the rest', async () => {
    const script = '(setsid sh -c "echo here >&3; sleep 986.3" </dev/null >/dev/null 2>&1 &) 3>&1; read x'
    const process = await client.run(['bash', '-c', script], { pipeStdin: true }).running()
    await process.said('here')
    const id = factsOf(process.id)?.id
    const names = async () =>
      (await request('processes/members', { id }, processMembers)).members.map(({ name }) => name)
    await expect.poll(names).toContain('sleep')
    await request('processes/signal', { id, signal: 'kill' }, processMembers)
    await expect
      .poll(() => factsOf(process.id)?.detail, { timeout: 5_000 })
      .toMatch(/also stopped: .*sleep \(pid \d+\)/)
  })

  it('terminate kills after two seconds what will not end, and E23 wakes what is stopped', async () => {
    const process = await client
      .run(['bash', '-c', 'trap "" TERM; kill -STOP $$; while :; do sleep .1; done'])
      .running()
    const id = factsOf(process.id)?.id
    await expect.poll(() => factsOf(process.id)?.detail, { timeout: 5_000 }).toContain('stopped')
    await request('processes/signal', { id, signal: 'continue' }, processMembers)
    await expect.poll(() => factsOf(process.id)?.detail, { timeout: 5_000 }).toBeUndefined()
    await request('processes/signal', { id, signal: 'terminate' }, processMembers)
    await process.closed()
    await expect.poll(() => factsOf(process.id)?.exitSignal).toBe('SIGKILL')
  })

  it('E35 resizes terminals, refuses impossible sizes by name, and takes any for one that has ended', async () => {
    const process = await client.run(['sh', '-c', 'read x; stty size; read x; stty size'], { tty: true }).running()
    const id = factsOf(process.id)?.id
    const resize = (columns: number, rows: number) => request('processes/resize', { id, columns, rows }, unknown)
    for (const [columns, rows, field] of [
      [0, 0, 'columns'],
      [80, -1, 'rows'],
      [1, 70_000, 'rows'],
    ] as const)
      await expect(resize(columns, rows)).rejects.toMatchObject({
        code: 'invalidParams',
        message: expect.stringContaining(field),
      })
    await expect(request('processes/resize', { id, columns: 'x', rows: 1 }, unknown)).rejects.toThrow('columns')
    await resize(132, 43)
    await process.write('\n')
    await process.said('43 132')
    await resize(1, 1)
    await process.write('\n')
    await process.said('1 1')
    await process.closed()
    expect(await resize(100, 40)).toEqual({})
  })

  it('names what it does not know', async () => {
    await expect(request('processes/read', { id: 'prc_x' }, unknown)).rejects.toMatchObject({ code: 'notFound' })
    await expect(request('processes/signal', { id: 'prc_x', signal: 'boo' }, unknown)).rejects.toMatchObject({
      code: 'invalidParams',
    })
  })
})

describe('the end of the host', () => {
  it('is the end of every process, and the books are closed', async () => {
    const other = mkdtempSync(join(tmpdir(), 'gatehouse-host-'))
    mkdirSync(join(other, 'run'), { mode: 0o700 })
    const owner2 = new DecidingHost()
    owner2.policy = (question) => question.allow()
    let pid = 0
    const second = await launchSidecar(
      'exec-server',
      { dataDir: other, runDir: join(other, 'run'), config: { ...config(), socketPath: join(other, 'run', 's') } },
      (host) => {
        owner2.register(host)
        host.onNotification('processes/changed', processChanged, ({ process }) => void (pid = process.pid ?? pid))
      },
    )
    const agent = await ExecWireClient.open(second.ready.endpoints.ws as string, undefined, {
      authorization: `Bearer ${AGENT_TOKEN}`,
    })
    await agent.run(['bash', '-c', 'trap "" TERM; echo go; while :; do sleep .1; done']).said('go')
    await second.shutdown()
    expect(isAlive(pid)).toBe(false)
    await expect.poll(() => readdirSync(join(other, 'spool'))).toEqual([])
    rmSync(other, { recursive: true, force: true })
  })
})
