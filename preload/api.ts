/**
 * The contract between the window and the host: view types and channel names. Types only.
 *
 * View types are smaller than domain types and safe to show; main maps domain -> view in one function
 * per noun. Everything that reaches the window arrives as a snapshot followed by ordered deltas.
 */
import type { Actor, Decision, Scope, Verdict } from '../sidecars/protocol/decision.ts'
import type { Subject } from '../sidecars/protocol/subject.ts'
import type { ConnectionFacts, ProcessFacts, SidecarName } from '../sidecars/protocol/host-channel.ts'
import type { OwnerThreadCalls, OwnerThreadMethod } from '../sidecars/protocol/owner-threads.ts'
import type { OutputPortFromServer, OutputPortFromView } from '../sidecars/protocol/output-port.ts'

export type { OwnerThreadCalls, OwnerThreadMethod }
export type { Actor, Decision, Scope, Verdict, Subject, SidecarName, OutputPortFromServer, OutputPortFromView }

export type Posture = 'working' | 'waits' | 'idle' | 'ended' | 'failed'

export interface SessionView {
  id: string
  agentName: string
  agentVersion: string | null
  title: string
  cwd: string | null
  via: string
  posture: Posture
  openedAtMs: number
  closedAtMs: number | null
  lastActivityAtMs: number
  lastLine: string
  processCount: number
  pendingCount: number
  blockedCount: number
}

/** Why a request was not decided by a rule; each a sentence part for the card. */
export interface WhyView {
  /** "no rule matches", "rm -rf is \"ask\" in default.rules:14". */
  summary: string
  /** Rule that nearly matched and what was missing. */
  nearly: string | null
}

export interface ApprovalView {
  id: string
  sessionId: string
  processId: string | null
  agentName: string
  sessionTitle: string
  subject: Subject
  /** Hash of `subject`; must be sent back with the verdict. */
  subjectHash: string
  scopes: Scope[]
  why: WhyView
  /** Why the asker wants it, in its own words; null when it gave none. */
  reason: string | null
  /** Last words of this very command when its sandbox refused it before; null when that did not happen. */
  refused: string | null
  state: 'pending' | 'decided' | 'withdrawn' | 'expired'
  decision: Decision | null
  /** Why it ended without a decision. */
  endedBecause: string | null
  askedAtMs: number
  expiresAtMs: number | null
  /** Equal requests waiting on this card. */
  waiting: number
}

export interface ProcessView extends ProcessFacts {
  sessionTitle: string
  /** Sampled while running; null when unknown. */
  cpuPercent: number | null
  rssBytes: number | null
  connectionCount: number
  blockedCount: number
}

export interface ConnectionView extends Omit<ConnectionFacts, 'leaseId'> {
  processId: string | null
  sessionId: string | null
  sessionTitle: string | null
  command: string | null
  pid: number | null
  ruleText: string | null
}

export interface RuleView {
  id: string
  kind: 'command' | 'network'
  /** The rule as written. */
  text: string
  /** The rule in words. */
  words: string
  effect: 'allow' | 'ask' | 'deny'
  scope: Scope
  sessionId: string | null
  source: string
  line: number | null
  lastFiredAtMs: number | null
  fired: number
  /** Shadowed, cannot be enforced, …; null when fine. */
  flag: string | null
}

export interface RuleProblemView {
  file: string
  line: number | null
  message: string
}

export interface SidecarView {
  name: SidecarName
  state: 'starting' | 'ready' | 'backoff' | 'failed' | 'stopped'
  generation: number
  pid: number | null
  startedAtMs: number | null
  endpoints: Record<string, string>
  restarts: number
  /** Set in backoff: when the next start is due. */
  retryAtMs: number | null
  lastError: string | null
  stderrTail: string[]
  warnings: string[]
}

export interface SettingsView {
  theme: 'system' | 'dark' | 'light' | 'high-contrast'
  unknownHost: 'ask' | 'block'
  agentGate: 'observe' | 'ask' | 'enforce'
  notifications: boolean
  globalShortcut: string | null
  /** Closing the window leaves the host at work behind the tray icon; absent = true. */
  keepInTray?: boolean
  /** How single agents are treated where no rule decides, by their name; others as `agentGate` says. */
  agentPostures?: Record<string, 'observe' | 'ask' | 'enforce'>
  /** The Codex CLI's own rules count beside ours, read live; absent = no. */
  readCodexRules?: boolean
  /** What the proxy lets through of allowed hosts: everything, or only what reads; absent = full. */
  networkMode?: 'full' | 'limited'
  /** HTTPS is opened at the proxy, so that requests are seen one by one; absent = no. */
  inspectHttps?: boolean
  /** Where the window's sessions live; null or absent = with Gatehouse itself. */
  externalAppServer?: ExternalAppServerView | null
}

/** An app server that is not Gatehouse's own: its address and the file with its token, or the command that is one. */
export interface ExternalAppServerView {
  url?: string
  tokenFile?: string
  command?: string[]
}

export interface NoticeView {
  id: string
  level: 'info' | 'warning' | 'error'
  message: string
  detail: string | null
  atMs: number
}

/** The keyed collections a view may hold. Values are replaced whole. */
export interface FeedTables {
  sessions: SessionView
  approvals: ApprovalView
  processes: ProcessView
  connections: ConnectionView
  rules: RuleView
  ruleProblems: RuleProblemView
  sidecars: SidecarView
  notices: NoticeView
}
export interface FeedCounters {
  blockedToday: number
  allowedToday: number
  decidedToday: number
  connectionsTotal: number
}
export type FeedSnapshot = {
  rev: number
  tables: { [T in keyof FeedTables]: Record<string, FeedTables[T]> }
  counters: FeedCounters
  settings: SettingsView
  host: {
    version: string
    instanceId: string
    dataDir: string
    platform: string
    startedAtMs: number
    /** What starts the command line in a shell here, e.g. `gatehouse` or `node /opt/gatehouse/bin/gatehouse`. */
    commandLine: string
  }
}
export type FeedDelta =
  | { [T in keyof FeedTables]: { table: T; key: string; value: FeedTables[T] | null } }[keyof FeedTables]
  | { counters: FeedCounters }
  | { settings: SettingsView }
/** `rev` counts up by one per batch; a gap means: ask for a new snapshot. */
export interface FeedBatch {
  rev: number
  deltas: FeedDelta[]
}

export interface DecideIntent {
  requestId: string
  subjectHash: string
  verdict: Verdict
  scope: Scope
  /** Words for the agent, on deny. */
  reason?: string
  /** What was filled in, on allow, where the subject has a form. */
  content?: Record<string, unknown>
}
/** `already` tells who was first. */
export type DecideResult = { ok: true } | { ok: false; message: string; already?: Decision }

export interface EgressIntent {
  connectionId: string
  verdict: Verdict
  scope: 'session' | 'always'
  /** host = any port; host-port = this port only. */
  breadth: 'host' | 'host-port'
}

export interface RulePreview {
  text: string
  words: string
  storedIn: string
  /** Past requests of the last 30 days it would have matched. */
  matched: { count: number; denied: number; examples: string[] }
}

/** One link of the chain that leads to a verdict. */
export interface CheckStepView {
  effect: 'allow' | 'ask' | 'deny'
  about: string
  because: string
  nearly: string | null
  rule: { id: string; text: string; file: string | null; line: number | null } | null
  /** What the program is known to do. */
  traits: { kind: 'safe' | 'dangerous' | 'network'; reason: string }[]
}

export interface ImportSourceView {
  agentName: string
  path: string
}
export interface ImportPreviewView {
  /** `wider`: what the rule permits beyond the entry it comes from; null when they say the same. */
  rules: { text: string; words: string; from: string; wider: string | null }[]
  unmapped: { from: string; why: string }[]
}
export interface ProjectView {
  root: string
  trust: 'trusted' | 'untrusted' | 'unknown'
  /** Names of its files of rules. */
  files: string[]
}

export interface ProcessChunkView {
  seq: number
  stream: 'stdout' | 'stderr' | 'pty'
  bytes: Uint8Array
}
export interface ProcessReadView {
  chunks: ProcessChunkView[]
  gap: { fromSeq: number; toSeq: number; bytes: number } | null
  nextSeq: number
}
export interface MemberView {
  pid: number
  ppid: number
  name: string
  cpuMs: number
  rssBytes: number
  ownGroup: boolean
}

export type Outcome<T> = { ok: true; value: T } | { ok: false; code: string; message: string }

/** Request/answer channels. Main checks sender and arguments of each; the answer is always an Outcome. */
export interface Invokes {
  'feed.snapshot': { args: []; result: FeedSnapshot }
  'approvals.decide': { args: [DecideIntent]; result: DecideResult }
  'approvals.preview': { args: [requestId: string, scope: Scope]; result: RulePreview }
  'processes.read': { args: [id: string, afterSeq: number, maxBytes: number]; result: ProcessReadView }
  'processes.write': { args: [id: string, text: string]; result: null }
  'processes.endInput': { args: [id: string]; result: null }
  'processes.signal': {
    args: [id: string, signal: 'interrupt' | 'terminate' | 'kill' | 'quit' | 'hangup' | 'stop' | 'continue']
    result: MemberView[]
  }
  'processes.members': { args: [id: string]; result: MemberView[] }
  'processes.resize': { args: [id: string, columns: number, rows: number]; result: null }
  /** The port arrives as a window message `{type:'gatehouse.output', processId, token}`. */
  'processes.attach': { args: [id: string, afterSeq: number, token: string]; result: null }
  'processes.save': { args: [id: string, format: 'raw' | 'text']; result: { path: string; bytes: number } | null }
  'egress.decide': { args: [EgressIntent]; result: { ruleId: string } }
  'egress.undo': { args: [ruleId: string]; result: null }
  /** The rule that `egress.decide` would write, and the past connections it would have matched. */
  'egress.preview': { args: [EgressIntent]; result: RulePreview }
  /** Writes an export made by the window where the owner chooses; null = the owner chose nothing. */
  'egress.saveExport': { args: [suggestedName: string, text: string]; result: { path: string; bytes: number } | null }
  'rules.remove': { args: [ruleId: string]; result: null }
  'rules.add': { args: [text: string]; result: { ruleId: string } }
  /** Reads a rule text as `rules.add` would, without keeping it: its meaning in words, or what is wrong with it. */
  'rules.validate': { args: [text: string]; result: { words: string | null; problem: string | null } }
  'rules.check': {
    args: [text: string, cwd: string]
    result: { verdict: 'allow' | 'ask' | 'deny'; chain: string[]; steps?: CheckStepView[] }
  }
  /** What `rules.add` would write, and the past requests it would have matched. */
  'rules.preview': { args: [text: string]; result: RulePreview }
  /** Files of other programs on this machine that rules can be taken from. */
  'rules.importSources': { args: []; result: ImportSourceView[] }
  'rules.importPreview': { args: [path: string]; result: ImportPreviewView }
  /** Adds all of them or, when one is no rule, none. */
  'rules.import': { args: [texts: string[]]; result: { ruleIds: string[] } }
  /** Projects that bring rules of their own (`.gatehouse/rules`), in force once trusted. */
  'projects.list': { args: []; result: ProjectView[] }
  'projects.trust': { args: [root: string, trust: 'trusted' | 'untrusted']; result: null }
  'settings.set': { args: [Partial<SettingsView>]; result: SettingsView }
  'sidecars.restart': { args: [SidecarName]; result: null }
  'sidecars.diagnostics': { args: [SidecarName]; result: string }
  /** One request to Gatehouse's own sessions; params and result are those of `OwnerThreadCalls[method]`. */
  'threads.call': { args: [method: OwnerThreadMethod, params: object]; result: unknown }
  'sessions.interrupt': { args: [sessionId: string]; result: null }
  'audit.page': { args: [before: number | null, limit: number]; result: { entries: AuditView[]; next: number | null } }
  'agents.list': { args: []; result: AgentView[] }
  'clipboard.write': { args: [text: string]; result: null }
  'shell.openExternal': { args: [url: string]; result: null }
}
export type InvokeChannel = keyof Invokes

export interface AuditView {
  seq: number
  atMs: number
  kind: string
  summary: string
  sessionId: string | null
}
export interface AgentView {
  name: string
  path: string | null
  version: string | null
  connected: string[]
  /** Command or file text that connects it. */
  howTo: string
}

/** A notification of the app-server protocol, e.g. `item/completed`. */
export interface ThreadNews {
  method: string
  params: Record<string, unknown>
}

/** Main -> window events. */
export interface Events {
  'feed.batch': FeedBatch
  /** What happens in threads this window has started or resumed; deltas are joined, long texts cut. */
  'threads.news': ThreadNews
  /** Main asks the page to show something (tray, notification, global shortcut, menu). */
  navigate: { section: string; id: string | null }
}
export type EventChannel = keyof Events

/** The frozen object on `window.gatehouse`. */
export interface GatehouseApi {
  invoke<C extends InvokeChannel>(channel: C, ...args: Invokes[C]['args']): Promise<Outcome<Invokes[C]['result']>>
  on<E extends EventChannel>(event: E, listener: (payload: Events[E]) => void): () => void
}
