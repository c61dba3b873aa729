import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ConnectionView, EgressIntent, FeedCounters } from '../../preload/api.ts'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import type { ConnectionFacts, NetworkRule } from '../../sidecars/protocol/host-channel.ts'
import type { ConnectionId, LeaseId, ProcessId, RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { AuditEvent } from '../audit/audit.ts'
import { Rules } from '../rules/rules.ts'
import { Connections } from './connections.ts'
import { DayCounters } from './day-counters.ts'
import { Egress } from './egress.ts'
import { Leases, type LeaseHolder } from './leases.ts'
import { ProxyRules } from './proxy-rules.ts'

// Generous: the machine may be busy with many other tests.
vi.setConfig({ testTimeout: 20_000 })
const until = (isSo: () => unknown) => vi.waitUntil(isSo, { timeout: 15_000 })

const window: Actor = { kind: 'person', via: 'window' }
const holder: LeaseHolder = { processId: 'prc_1' as ProcessId, sessionId: 'ses_a' as SessionId, command: 'npm install' }
const LEASE = 'lea_1' as LeaseId
const facts = (more: Partial<ConnectionFacts> = {}): ConnectionFacts => ({
  id: 'con_1' as ConnectionId,
  leaseId: LEASE,
  host: 'registry.test',
  port: 443,
  protocol: 'https',
  state: 'blocked',
  verdict: 'deny',
  reason: 'not_allowed',
  bytesIn: 0,
  bytesOut: 0,
  openedAtMs: 10,
  count: 1,
  inspected: false,
  ...more,
})

let rows: Map<string, ConnectionView>
let journal: AuditEvent[]
let decided: string[]
let connections: Connections
beforeEach(() => {
  rows = new Map()
  journal = []
  decided = []
  connections = new Connections({
    audit: { record: (event) => void journal.push(event) },
    holderOf: ({ leaseId }) => (leaseId === LEASE ? holder : undefined),
    contextOf: () => ({ sessionTitle: 'title', pid: 7, ruleText: null }),
    publish: (id, view) => void (view ? rows.set(id, view) : rows.delete(id)),
    onDecided: ({ id, state }, _, count) => decided.push(`${id} ${state} ${count}`),
    now: () => 99,
    limits: { kept: 50, detailed: 20 },
  })
})

describe('Connections', () => {
  it('names process, session and command of a connection and keeps its credential back', () => {
    connections.change(facts(), 1)
    const { leaseId: _, ...shown } = facts()
    expect(rows.get('con_1')).toEqual({
      ...shown,
      processId: 'prc_1',
      sessionId: 'ses_a',
      sessionTitle: 'title',
      command: 'npm install',
      pid: 7,
      ruleText: null,
    })
    connections.change(facts({ id: 'con_2' as ConnectionId, leaseId: 'lea_unknown' as LeaseId }), 1)
    expect(rows.get('con_2')).toMatchObject({ processId: null, sessionId: null, command: null })
  })

  it('counts and records a decision once, and folded blocks as they are added', () => {
    connections.change(facts({ state: 'asked', reason: undefined, verdict: undefined }), 1)
    connections.change(facts(), 1)
    connections.change(facts(), 1)
    connections.change(facts({ count: 5 }), 1)
    expect(decided).toEqual(['con_1 blocked 1', 'con_1 blocked 4'])
    expect(connections.countsOf(holder.sessionId)).toEqual({ connectionCount: 5, blockedCount: 5 })
    expect(connections.countsOf(holder.processId!)).toEqual({ connectionCount: 5, blockedCount: 5 })
    expect(journal).toEqual(
      [1, 4].map((count) => ({
        kind: 'connection.decided',
        connectionId: 'con_1',
        sessionId: 'ses_a',
        processId: 'prc_1',
        host: 'registry.test',
        port: 443,
        protocol: 'https',
        verdict: 'deny',
        reason: 'not_allowed',
        count,
      })),
    )
  })

  it('records how an allowed one ended, and one that the proxy took down with it', () => {
    const allowed = { state: 'allowed' as const, verdict: 'allow' as const, reason: undefined }
    connections.change(facts(allowed), 1)
    connections.change(facts({ ...allowed, state: 'closed', bytesIn: 5, bytesOut: 6, closedAtMs: 20 }), 1)
    connections.change(facts({ ...allowed, id: 'con_2' as ConnectionId }), 1)
    connections.change(facts({ ...allowed, id: 'con_3' as ConnectionId, state: 'asked', verdict: undefined }), 1)
    connections.loseGeneration(1, 'the network proxy stopped')
    connections.change(facts({ ...allowed, id: 'con_2' as ConnectionId, bytesIn: 9 }), 0)
    expect(journal.map(({ kind }) => kind)).toEqual([
      'connection.decided',
      'connection.ended',
      'connection.decided',
      'connection.ended',
      'connection.decided',
    ])
    expect(rows.get('con_2')).toMatchObject({ state: 'failed', reason: 'the network proxy stopped', closedAtMs: 99 })
    expect(rows.get('con_3')).toMatchObject({ state: 'blocked' })
  })

  it('keeps and shows the newest, and of the newest of these what was inside', () => {
    const detail = { exchanges: [] }
    for (let i = 0; i < 60; i++) connections.change(facts({ id: `c${i}` as ConnectionId, detail }), 1)
    expect(rows.size).toBe(50)
    expect([rows.has('c9'), rows.has('c10')]).toEqual([false, true])
    expect(connections.get('c9' as ConnectionId)).toBeUndefined()
    expect([rows.get('c39')?.detail, rows.get('c40')?.detail]).toEqual([undefined, detail])
    // One that goes on is told about as long as it is kept.
    connections.change(facts({ id: 'c10' as ConnectionId, count: 2 }), 1)
    expect(rows.get('c10')).toMatchObject({ count: 2 })
  })
})

describe('ProxyRules', () => {
  const rule = (id: string): NetworkRule => ({ id: id as RuleId, pattern: 'a.test', verdict: 'allow', scope: 'always' })
  let states: (string | null)[]
  beforeEach(() => {
    states = []
  })

  it('P08 tells that rules are applied only when the proxy has acknowledged them', async () => {
    let acknowledge = (_revision: number): void => {}
    const proxyRules = new ProxyRules({
      setRules: () => new Promise((resolve) => (acknowledge = resolve)),
      onState: (notApplied) => states.push(notApplied),
    })
    await expect(proxyRules.applied(1_000)).rejects.toMatchObject({ code: 'unavailable' })
    proxyRules.update([rule('a')])
    expect(proxyRules.forStart()).toEqual({ rules: [rule('a')], revision: 1 })
    proxyRules.proxyReady()
    await proxyRules.applied(1_000)
    proxyRules.update([rule('a')])
    await proxyRules.applied(1_000)
    proxyRules.update([rule('b')])
    const waiting = proxyRules.applied(1_000)
    let isApplied = false
    void waiting.then(() => (isApplied = true))
    await Promise.resolve()
    expect([isApplied, proxyRules.notApplied]).toEqual([false, 'the network proxy is being told'])
    acknowledge(2)
    await waiting
    expect(states).toEqual([null, 'the network proxy is being told', null])
  })

  it('P08 shows them as not applied while the proxy is gone, and applies the newest when it is back', async () => {
    const sent: number[] = []
    const proxyRules = new ProxyRules({
      setRules: async (revision) => {
        sent.push(revision)
        return revision
      },
      onState: (notApplied) => states.push(notApplied),
    })
    proxyRules.forStart()
    proxyRules.proxyReady()
    proxyRules.proxyGone('the network proxy was ended by SIGKILL')
    proxyRules.update([rule('a')])
    proxyRules.update([rule('a'), rule('b')])
    expect(proxyRules.notApplied).toBe('the network proxy was ended by SIGKILL')
    await expect(proxyRules.applied(1_000)).rejects.toThrow('SIGKILL')
    expect(proxyRules.forStart().revision).toBe(2)
    proxyRules.update([rule('c')])
    proxyRules.proxyReady()
    await proxyRules.applied(1_000)
    expect(sent).toEqual([3])
    expect(proxyRules.notApplied).toBeNull()
  })

  it('fails whoever waits when the proxy goes, and says when it refuses or does not answer', async () => {
    const answers: (() => Promise<number>)[] = [
      () => new Promise(() => {}),
      () => Promise.reject(new RpcError('invalidParams', 'rules[0]: bad pattern')),
    ]
    const proxyRules = new ProxyRules({ setRules: () => answers.pop()!(), onState: (state) => states.push(state) })
    proxyRules.proxyReady()
    proxyRules.update([rule('a')])
    const refused = proxyRules.applied(10)
    await expect(refused).rejects.toMatchObject({ code: 'timedOut' })
    expect(proxyRules.notApplied).toBe('the network proxy refused them: rules[0]: bad pattern')
    proxyRules.update([rule('b')])
    const lost = proxyRules.applied(5_000)
    proxyRules.proxyGone('the network proxy stopped')
    await expect(lost).rejects.toThrow('the network proxy stopped')
  })
})

describe('Egress', () => {
  let rules: Rules
  let egress: Egress
  let folder: string
  let sent: NetworkRule[][]
  const intent = (more: Partial<EgressIntent> = {}): EgressIntent => ({
    connectionId: 'con_1',
    verdict: 'allow',
    scope: 'session',
    breadth: 'host-port',
    ...more,
  })
  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'gatehouse-egress-')), 'rules')
    sent = []
    rules = new Rules({ folder, context: { grammar: null, isFileOf: () => false, isTrustedSearchPath: () => false } })
    const proxyRules = new ProxyRules({
      setRules: async (revision, list) => {
        sent.push(list)
        return revision
      },
      onState: () => {},
    })
    rules.onChange(() => proxyRules.update(rules.forProxy().rules))
    await rules.start()
    proxyRules.proxyReady()
    egress = new Egress({
      rules,
      connections,
      proxyRules,
      audit: { record: (event) => void journal.push(event) },
      rulesFolder: folder,
    })
  })
  afterEach(() => rules.stop())

  it('P19 allows this host and port for the session with one act, in force when it answers, and takes it back', async () => {
    connections.change(facts({ host: '127.0.0.1', port: 8080, protocol: 'http' }), 1)
    expect(egress.preview(intent())).toEqual({
      text: 'network_rule(host="127.0.0.1", port=8080, decision="allow")',
      words: 'Allow 127.0.0.1 on port 8080 for this session',
      storedIn: 'memory, until the session ends',
      matched: { count: 1, denied: 1, examples: ['127.0.0.1:8080 by npm install'] },
    })
    const { ruleId } = await egress.decide(intent(), window)
    expect(sent.at(-1)).toEqual([
      { id: ruleId, pattern: '127.0.0.1', port: 8080, verdict: 'allow', scope: 'session', sessionId: 'ses_a' },
    ])
    expect(journal.at(-1)).toEqual({
      kind: 'rule.added',
      ruleId,
      text: 'network_rule(host="127.0.0.1", port=8080, decision="allow")',
      scope: 'session',
      source: 'session',
      sessionId: 'ses_a',
      actor: window,
    })
    await egress.undo(ruleId, window)
    expect(sent.at(-1)).toEqual([])
    expect(journal.at(-1)).toMatchObject({ kind: 'rule.removed', ruleId, scope: 'session' })
    await expect(egress.undo(ruleId, window)).rejects.toMatchObject({ code: 'notFound' })
  })

  it('decides for good and for every port when that is what was asked', async () => {
    connections.change(facts(), 1)
    await egress.decide(intent({ scope: 'always', breadth: 'host', verdict: 'deny' }), window)
    expect(sent.at(-1)).toMatchObject([{ pattern: 'registry.test', verdict: 'deny', scope: 'always' }])
    await rules.stop()
    expect(await readFile(join(folder, 'default.rules'), 'utf8')).toBe(
      'network_rule(host="registry.test", decision="deny")\n',
    )
  })

  it('lets a newer decision replace the opposite one for the same host and port, in both scopes', async () => {
    connections.change(facts(), 1)
    for (const scope of ['session', 'always'] as const) {
      await egress.decide(intent({ scope, verdict: 'deny' }), window)
      await egress.decide(intent({ scope, verdict: 'allow' }), window)
      expect(rules.all().filter((rule) => rule.effect === 'deny')).toEqual([])
    }
    await until(
      async () =>
        (await readFile(join(folder, 'default.rules'), 'utf8')) ===
        'network_rule(host="registry.test", port=443, decision="allow")\n',
    )
  })

  it('names the rule that denies a host, because an allow could not win', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'a.rules'), '\nnetwork_rule("**.test", decision="deny")\n')
    await until(() => rules.all().length === 1)
    connections.change(facts(), 1)
    await expect(egress.decide(intent(), window)).rejects.toThrow(
      'a.rules:2 denies registry.test, and a denial wins. Remove it first: network_rule("**.test", decision="deny")',
    )
    expect(rules.all()).toHaveLength(1)
  })

  it('refuses what it cannot hold and what it does not know', async () => {
    connections.change(facts({ leaseId: undefined }), 1)
    await expect(egress.decide(intent(), window)).rejects.toMatchObject({ code: 'invalidParams' })
    await expect(egress.decide(intent({ connectionId: 'con_x' }), window)).rejects.toMatchObject({ code: 'notFound' })
    await egress.decide(intent({ scope: 'always' }), window)
    expect(sent.at(-1)).toHaveLength(1)
  })
})

describe('Leases', () => {
  it('name a process to the proxy, and are remembered after it ended', async () => {
    const revoked: string[] = []
    const leases = new Leases({
      grantLease: async (lease) => ({ HTTP_PROXY: `http://${lease.leaseId}@127.0.0.1:1` }),
      revokeLease: async (id) => void revoked.push(id),
    })
    const { environment } = await leases.grant(holder, new AbortController().signal)
    const leaseId = /lea_[0-9a-f]{32}/.exec(environment.HTTP_PROXY!)![0] as LeaseId
    expect(leases.holderOf(leaseId)).toEqual(holder)
    await leases.revokeProcess(holder.processId!)
    await leases.revokeProcess(holder.processId!)
    expect(revoked).toEqual([leaseId])
    expect(leases.holderOf(leaseId)).toEqual(holder)
  })

  it('are given again to a new proxy, on the port that the process knows, while the process lives', async () => {
    const granted: object[] = []
    const leases = new Leases({
      grantLease: async ({ leaseId: _, ...lease }) => {
        granted.push(lease)
        return { HTTP_PROXY: 'http://lea_x:@127.0.0.1:4512' }
      },
      revokeLease: async () => {},
    })
    const signal = new AbortController().signal
    await leases.grant(holder, signal)
    await leases.grant({ ...holder, processId: 'prc_2' as ProcessId }, signal)
    await leases.revokeProcess('prc_2' as ProcessId)
    granted.length = 0
    await leases.grantAgain()
    expect(granted).toEqual([{ ...holder, port: 4512 }])
  })

  it('are not granted without a proxy', async () => {
    const leases = new Leases({
      grantLease: () => Promise.reject(new RpcError('unavailable', 'the network-proxy is not running')),
      revokeLease: () => Promise.reject(new RpcError('unavailable', 'down')),
    })
    await expect(leases.grant(holder, new AbortController().signal)).rejects.toMatchObject({ code: 'unavailable' })
  })
})

it('DayCounters start anew at midnight, and not again when the clock goes back', () => {
  let now = new Date(2026, 5, 1, 23, 59).getTime()
  let counters: FeedCounters | undefined
  const day = new DayCounters(
    (next) => (counters = next),
    () => now,
  )
  day.add({ blocked: 3, connections: 3, decided: 1 })
  now += 120_000
  day.add({ allowed: 1, connections: 1 })
  expect(counters).toEqual({ allowedToday: 1, blockedToday: 0, decidedToday: 0, connectionsTotal: 4 })
  now -= 120_000
  day.add({ allowed: 1, connections: 1 })
  expect(counters).toMatchObject({ allowedToday: 2, connectionsTotal: 5 })
})
