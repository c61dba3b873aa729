import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ApprovalView, FeedSnapshot } from '../preload/api.ts'
import type { Actor } from '../sidecars/protocol/decision.ts'
import { unknown } from '../sidecars/protocol/decode.ts'
import {
  approvalsAnswer,
  leaseGrant,
  leaseRevoke,
  rulesSet,
  type ApprovalsAnswer,
  type ProcessFacts,
  type SessionFacts,
} from '../sidecars/protocol/host-channel.ts'
import type { Subject } from '../sidecars/protocol/subject.ts'
import { hashSubject } from './approvals/approvals.ts'
import { createHost, type Host } from './host.ts'
import type { LoginEnvironment } from './processes/login-environment.ts'
import { MemoryLauncher, type MemorySidecar } from './host/testing/memory-launcher.ts'

// Generous: the machine may be busy with many other tests.
vi.setConfig({ testTimeout: 20_000 })

const owner: Actor = { kind: 'person', via: 'window' }

let dataDir: string
let launcher: MemoryLauncher
let host: Host
/** What the stand-in proxy was told. */
let proxy: { leases: string[]; revoked: string[]; rules: { revision: number; patterns: string[] }[]; acks: boolean }
let processList: ProcessFacts[]
let signalled: string[]
let answerShell: (environment: LoginEnvironment) => void

function prepare({ name, peer }: MemorySidecar): void {
  if (name === 'network-proxy')
    peer
      .onRequest('leases/grant', leaseGrant, ({ leaseId, command }) => {
        proxy.leases.push(`${leaseId} ${command}`)
        return { environment: { HTTP_PROXY: `http://${leaseId}@127.0.0.1:9` } }
      })
      .onRequest('leases/revoke', leaseRevoke, ({ leaseId }) => {
        proxy.revoked.push(leaseId)
        return {}
      })
      .onRequest('rules/set', rulesSet, ({ revision, rules }) => {
        proxy.rules.push({ revision, patterns: rules.map((rule) => `${rule.verdict} ${rule.pattern}:${rule.port}`) })
        return proxy.acks ? { revision } : new Promise<never>(() => {})
      })
  if (name === 'exec-server')
    peer
      .onRequest('processes/list', unknown, () => ({ processes: processList }))
      .onRequest('processes/signal', unknown, (params) => {
        signalled.push(JSON.stringify(params))
        return { members: [] }
      })
      .onRequest('processes/read', unknown, () => ({
        chunks: [{ seq: 1, stream: 'stdout', base64: 'aGk=' }],
        nextSeq: 2,
        state: processFacts(),
      }))
}

async function openHost(): Promise<Host> {
  return createHost({
    dataDir,
    runDir: join(dataDir, 'run'),
    version: '1.2.3',
    program: '/opt/gatehouse/bin/gatehouse',
    launcher,
    log: () => {},
    timing: { backoffFirstMs: 50, backoffMaxMs: 50, killGraceMs: 20 },
    readEnvironment: () => new Promise((resolve) => (answerShell = resolve)),
  })
}
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-host-'))
  await mkdir(join(dataDir, 'run'))
  proxy = { leases: [], revoked: [], rules: [], acks: true }
  processList = []
  signalled = []
  launcher = new MemoryLauncher(prepare)
  host = await openHost()
})
afterEach(() => host.stop(1_000))

const tables = (): FeedSnapshot['tables'] => host.feed.snapshot().tables
const pending = (): ApprovalView[] => Object.values(tables().approvals).filter(({ state }) => state === 'pending')
const exec = () => launcher.running('exec-server')
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 15_000, interval: 2 })

const command = (...argv: string[]): Subject => ({
  kind: 'command',
  argv,
  cwd: '/w',
  envChanges: {},
  tty: false,
  stdin: 'none',
  sandbox: 'none',
})
const session: SessionFacts = { id: 'ses_1' as never, agentName: 'Codex', via: 'exec-ws', openedAtMs: 1 }
const processFacts = (more: Partial<ProcessFacts> = {}): ProcessFacts => ({
  id: 'prc_1' as never,
  sessionId: session.id,
  clientProcessId: 'c1',
  argv: ['make', 'x'],
  cwd: '/w',
  tty: false,
  pid: 42,
  state: 'running',
  startedAtMs: 1,
  outputBytes: 0,
  firstSeq: 0,
  nextSeq: 1,
  acceptsInput: true,
  ...more,
})
function ask(
  subject: Subject,
  options: { gate?: string; processId?: string; signal?: AbortSignal; from?: MemorySidecar } = {},
) {
  const { gate = 'ask', processId = 'prc_1', signal, from = exec() } = options
  const origin = { sessionId: session.id, processId }
  const asking: Promise<ApprovalsAnswer> = from.peer.request(
    'approvals/request',
    { subject, origin, gate },
    approvalsAnswer,
    signal ? { signal } : {},
  )
  asking.catch(() => {})
  return asking
}
const decide = (card: ApprovalView, more: object = {}) =>
  host.invoke(
    'approvals.decide',
    [{ requestId: card.id, subjectHash: card.subjectHash, verdict: 'allow', scope: 'once', ...more }],
    owner,
  )
async function journal(): Promise<Record<string, unknown>[]> {
  await host.stop(2_000)
  const [name] = await readdir(join(dataDir, 'audit'))
  const text = await readFile(join(dataDir, 'audit', name!), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('a host', () => {
  it('treats an agent as its owner said of it by name, whatever its asker asks for', async () => {
    await host.start()
    exec().peer.notify('sessions/opened', session)
    await host.invoke('settings.set', [{ agentPostures: { Codex: 'enforce', Claude: 'observe' } }], owner)
    expect(await ask(command('make', 'x'), { gate: 'ask' })).toMatchObject({
      decision: {
        verdict: 'deny',
        reason: expect.stringContaining('this agent may only do what rules allow'),
      },
    })
    await host.invoke('settings.set', [{ agentPostures: { Codex: 'ask' } }], owner)
    const asking = ask(command('make', 'x'), { gate: 'observe' })
    await until(() => pending().length === 1)
    const [card] = pending()
    const { id: requestId, subjectHash } = card!
    await host.invoke('approvals.decide', [{ requestId, subjectHash, verdict: 'deny', scope: 'once' }], owner)
    expect(await asking).toMatchObject({ decision: { verdict: 'deny', actor: { kind: 'person' } } })
  })

  it('starts three sidecars with what they need and shows them', async () => {
    await host.start()
    expect(Object.values(tables().sidecars).map(({ name, state, generation }) => [name, state, generation])).toEqual([
      ['exec-server', 'ready', 1],
      ['mcp-server', 'ready', 1],
      ['network-proxy', 'ready', 1],
    ])
    const config = (name: 'exec-server' | 'mcp-server' | 'network-proxy') =>
      launcher.running(name).params?.config as Record<string, never>
    const { socketPath, internalToken, websocket, agentGate } = config('exec-server')
    expect({ socketPath, websocket, agentGate }).toEqual({
      socketPath: join(dataDir, 'run', 'exec.sock'),
      websocket: { port: 0, token: host.agentToken },
      agentGate: 'observe',
    })
    expect(config('mcp-server')).toMatchObject({
      socketPath: join(dataDir, 'run', 'mcp.sock'),
      agentToken: host.agentToken,
      execServer: { token: internalToken },
    })
    expect(config('network-proxy')).toMatchObject({
      unknownHost: 'ask',
      allowLocalBinding: false,
      rules: [],
      revision: 0,
    })
    expect(internalToken).not.toBe(host.agentToken)
  })

  it("gives the exec server the login shell's variables when the shell has answered", async () => {
    await host.start()
    answerShell({ variables: { PATH: '/from/login:/usr/bin', GOPATH: '/go' } })
    await until(() => exec().configured.length > 0)
    expect(exec().configured).toMatchObject([{ baseEnvironment: { PATH: '/from/login:/usr/bin', GOPATH: '/go' } }])
    exec().crash('was ended by SIGKILL')
    await until(() => exec().generation === 2 && tables().sidecars['exec-server']!.state === 'ready')
    expect(exec().params?.config).toMatchObject({ baseEnvironment: { GOPATH: '/go' } })
  })

  it('sends what changed while a sidecar was starting when it is ready', async () => {
    const starting = host.start()
    answerShell({ variables: { PATH: '/early' } })
    await starting
    const given = () => [exec().params?.config, ...exec().configured].at(-1)
    await until(() => JSON.stringify(given()).includes('/early'))
  })

  it('says when the login shell cannot be asked', async () => {
    await host.start()
    answerShell({ variables: {}, warning: 'The login shell does not answer.' })
    await until(() => tables().notices['login-environment'])
    expect(exec().configured).toEqual([])
  })

  it('releases one command by one decision, with its way to the proxy', async () => {
    await host.start()
    exec().peer.notify('sessions/opened', session)
    exec().peer.notify('processes/changed', { process: processFacts({ state: 'starting', pid: null }) })
    const asking = ask(command('make', 'x'))
    await until(() => pending().length === 1)
    const [card] = pending()
    expect(card).toMatchObject({ agentName: 'Codex', sessionTitle: 'make x', subject: command('make', 'x') })
    expect(tables().sessions.ses_1).toMatchObject({ posture: 'waits', pendingCount: 1, lastLine: 'make x' })

    expect(await decide(card!)).toEqual({ ok: true })
    const { decision, environment } = await asking
    expect(decision).toMatchObject({ verdict: 'allow', actor: owner, subjectHash: hashSubject(command('make', 'x')) })
    const [leaseId] = proxy.leases[0]!.split(' ')
    expect(environment).toEqual({ HTTP_PROXY: `http://${leaseId}@127.0.0.1:9` })

    exec().peer.notify('processes/changed', { process: processFacts() })
    launcher.running('network-proxy').peer.notify('connections/changed', {
      connections: [
        {
          id: 'con_1',
          leaseId,
          host: 'a.test',
          port: 443,
          protocol: 'https',
          state: 'blocked',
          verdict: 'deny',
          reason: 'not_allowed',
          bytesIn: 0,
          bytesOut: 0,
          openedAtMs: 1,
        },
      ],
    })
    await until(() => tables().connections.con_1)
    expect(tables().connections.con_1).toMatchObject({
      sessionId: 'ses_1',
      processId: 'prc_1',
      pid: 42,
      command: 'make x',
      sessionTitle: 'make x',
    })
    expect(JSON.stringify(tables().connections)).not.toContain(leaseId)
    expect(tables().processes.prc_1).toMatchObject({ sessionTitle: 'make x', blockedCount: 1, connectionCount: 1 })
    expect(host.feed.snapshot().counters).toEqual({
      allowedToday: 0,
      blockedToday: 1,
      decidedToday: 1,
      connectionsTotal: 1,
    })

    exec().peer.notify('processes/changed', { process: processFacts({ state: 'closed', exitCode: 0 }) })
    await until(() => proxy.revoked.length === 1)
    expect(proxy.revoked).toEqual([leaseId])
    expect((await journal()).map(({ kind }) => kind)).toEqual(
      expect.arrayContaining([
        'host.started',
        'session.opened',
        'request.asked',
        'request.decided',
        'process.started',
        'connection.decided',
        'process.ended',
        'host.stopped',
      ]),
    )
  })

  it("denies with the owner's words", async () => {
    await host.start()
    const asking = ask(command('make', 'x'))
    await until(() => pending().length === 1)
    await decide(pending()[0]!, { verdict: 'deny', reason: 'use the other target' })
    expect(await asking).toMatchObject({
      decision: { verdict: 'deny', reason: 'use the other target' },
      environment: {},
    })
    expect(proxy.leases).toEqual([])
  })

  it('withdraws a card when the asker cancels', async () => {
    await host.start()
    const controller = new AbortController()
    const asking = ask(command('make', 'x'), { signal: controller.signal })
    await until(() => pending().length === 1)
    controller.abort()
    await expect(asking).rejects.toMatchObject({ code: 'cancelled' })
    await until(() => pending().length === 0)
    expect(Object.values(tables().approvals)[0]).toMatchObject({
      state: 'withdrawn',
      endedBecause: 'the agent took it back or left',
    })
  })

  it('never lets a command go without a proxy, though it was allowed', async () => {
    await host.start()
    const crashed = until(() => tables().sidecars['network-proxy']!.state === 'failed')
    for (let lives = 1; lives <= 5; lives++) {
      await until(
        () => launcher.running('network-proxy').generation === lives && launcher.running('network-proxy').params,
      )
      launcher.running('network-proxy').crash('was ended by SIGKILL')
    }
    await crashed
    await expect(ask(command('make', 'x'), { gate: 'observe' })).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the network proxy is not running: was ended by SIGKILL',
    })
    expect((await journal()).find(({ kind }) => kind === 'request.failed')).toMatchObject({
      reason: 'the network proxy is not running: was ended by SIGKILL',
    })
  })

  it('takes with a dead exec server what belonged to it, visibly, and goes on with its next life', async () => {
    await host.start()
    const first = exec()
    first.peer.notify('sessions/opened', session)
    first.peer.notify('processes/changed', { process: processFacts() })
    const asking = ask(command('make', 'y'), { processId: 'prc_2' })
    await until(() => pending().length === 1 && tables().processes.prc_1)
    const [card] = pending()
    processList = [processFacts({ id: 'prc_9' as never })]
    first.crash('was ended by SIGKILL')
    await expect(asking).rejects.toMatchObject({ code: 'disconnected' })
    await until(() => tables().sidecars['exec-server']!.generation === 2 && tables().processes.prc_9)
    expect(tables().approvals[card!.id]).toMatchObject({ state: 'withdrawn', endedBecause: 'the exec server stopped' })
    expect(tables().processes.prc_1).toMatchObject({
      state: 'failed',
      detail: 'lost: the exec server was ended by SIGKILL',
    })
    expect(tables().sessions.ses_1).toMatchObject({ posture: 'failed', pendingCount: 0 })
    expect(tables().processes.prc_9).toMatchObject({ state: 'running' })
    expect(await decide(card!)).toMatchObject({
      ok: false,
      message: 'It does not wait any more: the exec server stopped.',
    })
    const next = ask(command('make', 'z'), { processId: 'prc_3' })
    await until(() => pending().length === 1)
    await decide(pending()[0]!)
    expect((await next).decision.verdict).toBe('allow')
  })

  it('ends with a session what it asked and what it was allowed for itself', async () => {
    await host.start()
    exec().peer.notify('sessions/opened', session)
    const first = ask(command('rm', 'x'))
    await until(() => pending().length === 1)
    await decide(pending()[0]!, { scope: 'session' })
    await first
    expect(Object.values(tables().rules)).toMatchObject([{ scope: 'session', sessionId: 'ses_1', text: 'rm x' }])
    const waiting = ask(command('rm', 'y'))
    await until(() => pending().length === 1)
    exec().peer.notify('sessions/closed', { id: 'ses_1', reason: 'the client left', closedAtMs: 5 })
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled', message: 'Withdrawn: the client left' })
    expect(Object.values(tables().rules)).toEqual([])
    expect(tables().sessions.ses_1).toMatchObject({ posture: 'ended' })
  })

  it('P08 shows host rules as not applied until the proxy has them, over its restarts', async () => {
    await host.start()
    const flags: (string | null)[] = []
    host.feed.subscribe(({ deltas }) => {
      for (const delta of deltas)
        if ('table' in delta && delta.table === 'rules' && delta.value) flags.push(delta.value.flag)
    })
    const flag = () => Object.values(tables().rules)[0]?.flag
    await host.invoke('rules.add', ['network_rule("a.test", decision="allow")'], owner)
    expect(proxy.rules).toEqual([{ revision: 1, patterns: ['allow a.test:undefined'] }])
    expect(flag()).toBeNull()
    const first = launcher.running('network-proxy')
    first.crash('was ended by SIGKILL')
    await until(() => launcher.running('network-proxy') !== first && flags.at(-1) === null && flag() === null)
    expect(flags).toContain('not applied: the network proxy was ended by SIGKILL')
    expect(launcher.running('network-proxy').params?.config).toMatchObject({
      revision: 1,
      rules: [{ pattern: 'a.test', verdict: 'allow' }],
    })
    proxy.acks = false
    void host.invoke('rules.add', ['network_rule("b.test", decision="deny")'], owner)
    await until(() =>
      Object.values(tables().rules).every((rule) => rule.flag === 'not applied: the network proxy is being told'),
    )
  })

  it('stops: withdraws what waits and writes the journal to its end', async () => {
    await host.start()
    const asking = ask(command('make', 'x'))
    await until(() => pending().length === 1)
    const records = await journal()
    await expect(asking).rejects.toThrow()
    expect(records.find(({ kind }) => kind === 'request.withdrawn')).toMatchObject({ reason: 'Gatehouse stops' })
    expect(records.at(-1)).toMatchObject({ kind: 'host.stopped' })
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
  })

  it('E77 puts a request that a killed host left open on record as lost', async () => {
    await host.start()
    void ask(command('make', 'x'))
    await until(() => pending().length === 1)
    const [card] = pending()
    // What a kill -9 leaves: the question is written, its end is not.
    await until(async () =>
      (await readFile(join(dataDir, 'audit', (await readdir(join(dataDir, 'audit')))[0]!), 'utf8')).includes(card!.id),
    )
    const left = await readdir(join(dataDir, 'audit'))
    const text = await readFile(join(dataDir, 'audit', left[0]!), 'utf8')
    await host.stop(1_000)
    await writeFile(join(dataDir, 'audit', left[0]!), text)
    host = await openHost()
    await host.start()
    const page = async () => (await host.invoke('audit.page', [null, 100], owner)).entries.map(({ summary }) => summary)
    await until(async () => (await page()).includes('Withdrawn: make x (lost: Gatehouse ended while it waited)'))
    expect(await decide(card!)).toMatchObject({ ok: false })
  })

  it('lives with corrupt files, keeps them and says so', async () => {
    await host.stop(1_000)
    await writeFile(join(dataDir, 'settings.json'), '{"theme":')
    await mkdir(join(dataDir, 'rules'), { recursive: true })
    await writeFile(join(dataDir, 'rules', 'b.rules'), 'deny  rm -rf (\n')
    const [name] = await readdir(join(dataDir, 'audit'))
    await writeFile(
      join(dataDir, 'audit', name!),
      `${await readFile(join(dataDir, 'audit', name!), 'utf8')}{"seq":99,"torn`,
    )
    host = await openHost()
    await host.start()
    const messages = () => Object.values(tables().notices).map(({ message }) => message)
    await until(() => messages().some((message) => message.includes('cut off by a crash')))
    expect(messages().join('\n')).toContain('settings.json is corrupt')
    expect(messages()).toContain(
      'b.rules:1: only calls with literal arguments are read here; found "rm" after "deny". No allow rule of a broken file is in force; its other rules hold.',
    )
    expect(Object.values(tables().ruleProblems)).toEqual([
      { file: 'b.rules', line: 1, message: 'only calls with literal arguments are read here; found "rm" after "deny"' },
    ])
    expect((await readdir(dataDir)).filter((file) => file.startsWith('settings.json'))).toHaveLength(1)
    expect(Object.values(tables().sidecars).every(({ state }) => state === 'ready')).toBe(true)
  })
})

describe('host.invoke', () => {
  beforeEach(() => host.start())

  it.each([
    ['approvals.decide', [], 'arguments: expected 1 arguments, got 0'],
    ['approvals.decide', [{ requestId: 1 }], 'arguments[0].requestId: expected a string, got a number'],
    [
      'approvals.decide',
      [{ requestId: 'r', subjectHash: 'h', verdict: 'maybe', scope: 'once' }],
      'arguments[0].verdict: expected "allow" or "deny", got "maybe"',
    ],
    ['processes.signal', ['prc_1', 'explode'], 'arguments[1]: expected "interrupt"'],
    ['processes.resize', ['prc_1', 0, 5], 'arguments[1]: expected 1..1000, got 0'],
    ['processes.read', ['prc_1', -1, 5], 'arguments[1]: expected 0'],
    ['settings.set', [{ colour: 'red' }], 'arguments[0].colour: there is no such setting'],
    ['settings.set', [{ globalShortcut: 5 }], 'arguments[0].globalShortcut: expected a string, got a number'],
    ['audit.page', [null, 5000], 'arguments[1]: expected 1..1000, got 5000'],
    ['rules.add', ['prefix_rule('], 'text: expected a string, a number or a list, found the end of the file'],
  ] as const)('%s with %j is refused naming the argument', async (channel, args, message) => {
    await expect(host.invoke(channel, args as never, owner)).rejects.toMatchObject({
      code: 'invalidParams',
      message: expect.stringContaining(message) as string,
    })
  })

  it('knows no channels of the desktop and no others', async () => {
    for (const channel of ['clipboard.write', 'toString', 'nonsense'])
      await expect(host.invoke(channel as 'agents.list', [], owner)).rejects.toMatchObject({ code: 'methodNotFound' })
  })

  it('changes settings, shows them and tells the sidecars that care', async () => {
    await host.invoke('settings.set', [{ agentGate: 'enforce', unknownHost: 'block', theme: 'dark' }], owner)
    expect(host.feed.snapshot().settings).toMatchObject({ agentGate: 'enforce', unknownHost: 'block', theme: 'dark' })
    await until(() => launcher.running('network-proxy').configured.length > 0)
    await until(() => exec().configured.some((config) => (config as { agentGate: string }).agentGate === 'enforce'))
    expect(launcher.running('network-proxy').configured.at(-1)).toMatchObject({ unknownHost: 'block' })
  })

  it('hands the owner’s network.toml to the proxy, and what becomes of it', async () => {
    const proxy = () => launcher.running('network-proxy')
    expect(proxy().params?.config).not.toHaveProperty('ownerFile')
    const path = join(dataDir, 'network.toml')
    await writeFile(path, 'enable_socks5_udp = true\n')
    await until(() => proxy().configured.length > 0)
    expect(proxy().configured.at(-1)).toMatchObject({ ownerFile: { path, text: 'enable_socks5_udp = true\n' } })
    proxy().crash('test')
    await until(() => proxy().generation === 2 && proxy().params)
    expect(proxy().params?.config).toMatchObject({ ownerFile: { path } })
  })

  it('reads output as bytes, and knows when there is no such process', async () => {
    exec().peer.notify('processes/changed', { process: processFacts() })
    await until(() => tables().processes.prc_1)
    expect(await host.invoke('processes.read', ['prc_1', 0, 100], owner)).toEqual({
      chunks: [{ seq: 1, stream: 'stdout', bytes: Buffer.from('hi') }],
      gap: null,
      nextSeq: 2,
    })
    await expect(host.invoke('processes.read', ['prc_x', 0, 100], owner)).rejects.toMatchObject({ code: 'notFound' })
  })

  it('interrupts a session: its questions are denied, its processes get the signal', async () => {
    exec().peer.notify('sessions/opened', session)
    exec().peer.notify('processes/changed', { process: processFacts() })
    exec().peer.notify('processes/changed', { process: processFacts({ id: 'prc_2' as never, state: 'closed' }) })
    const asking = ask(command('make', 'x'), { processId: 'prc_3' })
    await until(() => pending().length === 1)
    await host.invoke('sessions.interrupt', ['ses_1'], owner)
    expect((await asking).decision).toMatchObject({ verdict: 'deny', reason: 'The owner interrupted the session.' })
    expect(signalled).toEqual(['{"id":"prc_1","signal":"interrupt"}'])
    await expect(host.invoke('sessions.interrupt', ['ses_x'], owner)).rejects.toMatchObject({ code: 'notFound' })
  })

  it('checks, validates, adds and removes rules', async () => {
    expect(await host.invoke('rules.validate', ['prefix_rule(["make"])'], owner)).toEqual({
      words: 'Allow commands that start with make, with anything after it',
      problem: null,
    })
    expect(await host.invoke('rules.validate', ['prefix_rule(["env"])'], owner)).toMatchObject({
      words: null,
      problem: expect.stringContaining('env starts other programs') as string,
    })
    const { ruleId } = await host.invoke('rules.add', ['prefix_rule(["sudo"], "forbidden")'], owner)
    expect(await host.invoke('rules.check', ['ls && sudo x', '/w'], owner)).toMatchObject({ verdict: 'deny' })
    expect(await host.invoke('rules.check', ['https://a.test/x', '/w'], owner)).toMatchObject({
      verdict: 'ask',
      chain: ['a.test:443: asks, no rule names this host'],
    })
    await host.invoke('rules.remove', [ruleId], owner)
    expect(await host.invoke('rules.check', ['sudo x', '/w'], owner)).toMatchObject({ verdict: 'ask' })
    expect(await readFile(join(dataDir, 'rules', 'default.rules'), 'utf8')).toBe('')
  })

  it('restarts a sidecar and gives its diagnostics', async () => {
    const before = launcher.running('mcp-server')
    await host.invoke('sidecars.restart', ['mcp-server'], owner)
    await until(() => launcher.running('mcp-server') !== before && tables().sidecars['mcp-server']!.state === 'ready')
    expect(await host.invoke('sidecars.diagnostics', ['mcp-server'], owner)).toContain(
      'mcp-server: ready, generation 2',
    )
  })
})
