/** Complete view values for tests; each takes the members that matter to the test. */
import type {
  ApprovalView,
  ConnectionView,
  FeedSnapshot,
  FeedTables,
  ProcessView,
  RuleView,
  SessionView,
  SidecarName,
  SidecarView,
} from '../../preload/api.ts'
import type { CommandSubject, ConnectionSubject } from '../../sidecars/protocol/subject.ts'

/** A fixed moment (2026-03-14 09:30 UTC), so that tests compare whole values. */
export const NOON_MS = Date.UTC(2026, 2, 14, 9, 30)

export function session(over: Partial<SessionView> = {}): SessionView {
  return {
    id: 'ses_1',
    agentName: 'claude-code',
    agentVersion: '2.1.0',
    title: 'fix flaky test',
    cwd: '/home/ada/src/shop',
    via: 'mcp-stdio',
    posture: 'working',
    openedAtMs: NOON_MS - 600_000,
    closedAtMs: null,
    lastActivityAtMs: NOON_MS - 4_000,
    lastLine: 'ran npm test',
    processCount: 1,
    pendingCount: 0,
    blockedCount: 0,
    ...over,
  }
}

export function command(argv: string[], over: Partial<CommandSubject> = {}): CommandSubject {
  return {
    kind: 'command',
    argv,
    cwd: '/home/ada/src/shop',
    envChanges: {},
    tty: false,
    stdin: 'none',
    sandbox: 'none',
    ...over,
  }
}

export function destination(over: Partial<ConnectionSubject> = {}): ConnectionSubject {
  return { kind: 'connection', host: 'registry.example.org', port: 443, protocol: 'https', ...over }
}

export function approval(over: Partial<ApprovalView> = {}): ApprovalView {
  return {
    id: 'req_1',
    sessionId: 'ses_1',
    processId: null,
    agentName: 'claude-code',
    sessionTitle: 'fix flaky test',
    subject: command(['git', 'push', 'origin', 'main']),
    subjectHash: 'hash-of-req_1',
    scopes: ['once', 'session', 'always'],
    why: { summary: 'no rule matches', nearly: null },
    reason: null,
    refused: null,
    state: 'pending',
    decision: null,
    endedBecause: null,
    askedAtMs: NOON_MS - 42_000,
    expiresAtMs: null,
    waiting: 1,
    ...over,
  }
}

export function process(
  over: Omit<Partial<ProcessView>, 'id' | 'sessionId'> & { id?: string; sessionId?: string } = {},
): ProcessView {
  return {
    id: 'prc_1',
    sessionId: 'ses_1',
    clientProcessId: '1',
    argv: ['npm', 'test'],
    cwd: '/home/ada/src/shop',
    tty: false,
    pid: 4121,
    state: 'running',
    startedAtMs: NOON_MS - 95_000,
    outputBytes: 1_234,
    firstSeq: 1,
    nextSeq: 9,
    acceptsInput: true,
    sessionTitle: 'fix flaky test',
    cpuPercent: 12.5,
    rssBytes: 48_000_000,
    connectionCount: 2,
    blockedCount: 0,
    ...over,
  } as ProcessView
}

export function connection(over: Omit<Partial<ConnectionView>, 'id'> & { id?: string } = {}): ConnectionView {
  return {
    id: 'con_1',
    host: 'registry.example.org',
    port: 443,
    protocol: 'https',
    method: 'CONNECT',
    state: 'blocked',
    verdict: 'deny',
    reason: 'not_allowed',
    bytesIn: 0,
    bytesOut: 0,
    openedAtMs: NOON_MS - 10_000,
    closedAtMs: NOON_MS - 10_000,
    count: 1,
    inspected: false,
    processId: 'prc_1',
    sessionId: 'ses_1',
    sessionTitle: 'fix flaky test',
    command: 'npm test',
    pid: 4121,
    ruleText: null,
    ...over,
  } as ConnectionView
}

export function rule(over: Partial<RuleView> = {}): RuleView {
  return {
    id: 'rul_1',
    kind: 'command',
    text: 'prefix_rule(pattern=["git", "status"], decision="allow")',
    words: 'Allow commands that start with git status',
    effect: 'allow',
    scope: 'always',
    sessionId: null,
    source: 'default.rules',
    line: 9,
    lastFiredAtMs: NOON_MS - 3_600_000,
    fired: 12,
    flag: null,
    ...over,
  }
}

const ENDPOINTS: Record<SidecarName, Record<string, string>> = {
  'exec-server': { unix: '/home/ada/.gatehouse/run/exec.sock', ws: 'ws://127.0.0.1:41211' },
  'mcp-server': { unix: '/home/ada/.gatehouse/run/mcp.sock', http: 'http://127.0.0.1:41212/mcp' },
  'network-proxy': { http: 'http://127.0.0.1:41213' },
}

export function sidecar(name: SidecarName, over: Partial<SidecarView> = {}): SidecarView {
  return {
    name,
    state: 'ready',
    generation: 1,
    pid: 2_100,
    startedAtMs: NOON_MS - 700_000,
    endpoints: ENDPOINTS[name],
    restarts: 0,
    retryAtMs: null,
    lastError: null,
    stderrTail: [],
    warnings: [],
    ...over,
  }
}

export function snapshot(
  tables: { [T in keyof FeedTables]?: FeedTables[T][] } = {},
  over: Omit<Partial<FeedSnapshot>, 'tables'> = {},
): FeedSnapshot {
  const byId = <V extends { id: string }>(rows: V[] = []): Record<string, V> =>
    Object.fromEntries(rows.map((row) => [row.id, row]))
  const sidecars = tables.sidecars ?? [sidecar('exec-server'), sidecar('mcp-server'), sidecar('network-proxy')]
  return {
    rev: 1,
    tables: {
      sessions: byId(tables.sessions),
      approvals: byId(tables.approvals),
      processes: byId(tables.processes),
      connections: byId(tables.connections),
      rules: byId(tables.rules),
      ruleProblems: Object.fromEntries((tables.ruleProblems ?? []).map((problem, i) => [String(i), problem])),
      sidecars: Object.fromEntries(sidecars.map((row) => [row.name, row])),
      notices: byId(tables.notices),
    },
    counters: { blockedToday: 0, allowedToday: 0, decidedToday: 0, connectionsTotal: 0 },
    settings: { theme: 'dark', unknownHost: 'ask', agentGate: 'ask', notifications: true, globalShortcut: null },
    host: {
      version: '0.1.0',
      instanceId: 'ins_1',
      dataDir: '/home/ada/.gatehouse',
      platform: 'linux',
      startedAtMs: NOON_MS - 700_000,
      commandLine: 'node /opt/gatehouse/bin/gatehouse',
    },
    ...over,
  }
}
