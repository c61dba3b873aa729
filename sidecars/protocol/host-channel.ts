/**
 * The channel between the host and a sidecar: method names, their params and results.
 *
 * Direction is written as `host -> x` or `x -> host`. Both sides cancel a request they sent with the
 * notification `$/cancelRequest {id}` (done by the peer when its AbortSignal fires); the answer is
 * then error `cancelled`. Everything here is JSON text over whatever carrier the host uses.
 */
import {
  array,
  boolean,
  integer,
  literal,
  nullable,
  object,
  optional,
  record,
  string,
  unknown,
  withDefault,
  type Infer,
} from './decode.ts'
import { decision, scope, verdict } from './decision.ts'
import { connectionId, leaseId, processId, requestId, ruleId, sessionId } from './ids.ts'
import { networkProtocol, subject } from './subject.ts'

/** Raised with every incompatible change of this file. */
export const HOST_PROTOCOL_VERSION = 1

export const sidecarName = literal('exec-server', 'mcp-server', 'network-proxy')
export type SidecarName = Infer<typeof sidecarName>
export const SIDECAR_NAMES: readonly SidecarName[] = ['exec-server', 'mcp-server', 'network-proxy']

// ---------------------------------------------------------------- life (all sidecars, host -> sidecar)

/** `sidecar/initialize`: first request on the channel. Its answer means "ready". */
export const initializeParams = object({
  protocolVersion: integer(1),
  /** Random per host launch. */
  instanceId: string,
  /** 1 for the first start of this sidecar under this host, then counting up. */
  generation: integer(1),
  /** Absolute path of the data folder (mode 0700). */
  dataDir: string,
  /** Absolute path of the folder for sockets (mode 0700). */
  runDir: string,
  /**
   * Where the life before this one was reached. Ports that the configuration leaves open are taken again, if they
   * are still free, so that agents which come back after a crash find the sidecar in the same place.
   */
  previousEndpoints: optional(record(string)),
  /** Sidecar-specific; decoded by the sidecar with its own `…Config` decoder below. */
  config: unknown,
})
/** How a warning begins that says a sidecar does not do what it is there for. */
export const SELF_TEST_FAILED = 'Self-test failed'
/** Below `runDir`: what commands have to trust while HTTPS is inspected; readable for them under every sandbox. */
export const CERTIFICATES_FOLDER = 'certificates'
export const initializeResult = object({
  protocolVersion: integer(1),
  name: sidecarName,
  version: string,
  pid: integer(1),
  /** Where agents reach this sidecar, by transport, e.g. `{ "unix": "/…/mcp.sock", "ws": "ws://127.0.0.1:4512" }`. */
  endpoints: withDefault(record(string), {}),
  /** Things that do not work here, one sentence each with the next step. */
  warnings: withDefault(array(string), []),
})
export type InitializeParams = Infer<typeof initializeParams>
export type InitializeResult = Infer<typeof initializeResult>

/**
 * `sidecar/ping` {} -> {}; `sidecar/shutdown` {deadlineMs} -> {} after everything it started is gone;
 * `sidecar/configure` {config} -> {} replaces the live part of the configuration.
 */
export const shutdownParams = object({ deadlineMs: integer(0) })

// ---------------------------------------------------------------- configuration per sidecar

export const gateMode = literal('observe', 'ask', 'enforce')
/**
 * observe: run and record, unless a rule denies it; ask: rules, then the owner; enforce: rules only, no
 * match is a deny. A deny rule holds in every mode.
 */
export type GateMode = Infer<typeof gateMode>

export const execServerConfig = object({
  /** 0600 unix socket for our own sidecars and CLI. */
  socketPath: string,
  /** Secret for internal clients on that socket. */
  internalToken: string,
  /** Loopback WebSocket for outside agents; absent = not offered. */
  websocket: optional(object({ port: integer(0, 65535), token: string })),
  /** Gate for clients that bring the agent token. */
  agentGate: withDefault(gateMode, 'observe' as const),
  /** Bytes of output kept per process on disk before the oldest are dropped (with a gap record). */
  spoolBytes: withDefault(integer(0), 256 * 1024 * 1024),
  /**
   * Variables (PATH and a few more, from the owner's login shell) laid over the exec server's own
   * environment before a child's is made. Live: the host sends them with `sidecar/configure` when the
   * shell has answered, which may be after the first process was started.
   */
  baseEnvironment: withDefault(record(string), {}),
})
/** An app server that is not ours, where the window's sessions live instead: at an address, or started by a command. */
export const externalAppServer = object({
  url: optional(string),
  /** File with the bearer token of `url`. */
  tokenFile: optional(string),
  command: optional(array(string)),
  /** Laid over the sidecar's own environment for `command`. */
  environment: optional(record(string)),
})
export type ExternalAppServer = Infer<typeof externalAppServer>
export const mcpServerConfig = object({
  socketPath: string,
  /** Token that an attaching relay or HTTP client must present. */
  agentToken: string,
  http: optional(object({ port: integer(0, 65535) })),
  execServer: nullable(object({ socketPath: string, token: string })),
  /** Where clients of the app-server protocol reach Gatehouse's own sessions; absent = nowhere. */
  appServer: optional(
    object({
      /** 0600 unix socket that speaks WebSocket. */
      socketPath: string,
      /** Loopback WebSocket for the owner's clients; the token is not the agents', for it can decide. Absent = not offered. */
      websocket: optional(object({ port: integer(0, 65535), token: string })),
    }),
  ),
  /** Live. Absent = the window's sessions are Gatehouse's own. */
  externalAppServer: optional(externalAppServer),
})
export const networkRule = object({
  id: ruleId,
  /** Canonical pattern: exact host, `*.host`, `**.host` or `*`. */
  pattern: string,
  port: optional(integer(1, 65535)),
  protocol: optional(networkProtocol),
  verdict,
  scope,
  /** Set when scope is `session`. */
  sessionId: optional(sessionId),
})
export type NetworkRule = Infer<typeof networkRule>
export const networkProxyConfig = object({
  http: object({ host: string, port: integer(0, 65535) }),
  socks: optional(object({ host: string, port: integer(0, 65535) })),
  /** What happens to a host that no rule names: ask the owner (held), or refuse at once. */
  unknownHost: withDefault(literal('ask', 'block'), 'ask' as const),
  /** How long a held connection waits for the owner before it is refused. */
  askTimeoutMs: withDefault(integer(1), 120_000),
  allowLocalBinding: withDefault(boolean, false),
  mode: withDefault(literal('full', 'limited'), 'full' as const),
  /** Every HTTPS host is inspected, but for the exclusions in `mitm`. */
  inspectHttps: withDefault(boolean, false),
  /**
   * The owner's `network.toml`: inspection hooks, an authority of their own and rare switches. The proxy reads
   * it and names what is wrong in it; `problem` says why there is no text.
   */
  ownerFile: optional(object({ path: string, text: optional(string), problem: optional(string) })),
  /** Of the owner's environment: authorities, parent proxies, and the secrets that the file names. */
  environment: withDefault(record(string), {}),
  allowUpstreamProxy: withDefault(boolean, false),
  /** Off: nothing listens and nothing is forwarded. */
  enabled: withDefault(boolean, true),
  /** SOCKS5 UDP ASSOCIATE; hardly any client needs it. */
  socksUdp: withDefault(boolean, false),
  /** Limited mode only: frames of a WebSocket are writes. */
  limitedAllowsWebsocket: withDefault(boolean, false),
  /** Dangerous: listen where other machines can reach it. Without it every address becomes 127.0.0.1. */
  allowNonLoopback: withDefault(boolean, false),
  /** Absolute path -> verdict, for requests with `x-unix-socket` (macOS only). */
  unixSockets: withDefault(record(verdict), {}),
  allowAllUnixSockets: withDefault(boolean, false),
  /** Rules in force from the start; replaced by `rules/set`. */
  rules: withDefault(array(networkRule), []),
  revision: withDefault(integer(0), 0),
})
export type ExecServerConfig = Infer<typeof execServerConfig>
export type McpServerConfig = Infer<typeof mcpServerConfig>
export type NetworkProxyConfig = Infer<typeof networkProxyConfig>

// ---------------------------------------------------------------- the owner's variables (mcp-server -> host)

/** `environment/variable` -> `variableValue`: one variable of the owner, e.g. the key of a model provider. */
export const variableName = object({ name: string })
export const variableValue = object({ value: nullable(string) })

// ---------------------------------------------------------------- approvals (sidecar -> host)

/** Who asks. The host fills in names from its session table. */
export const origin = object({
  sessionId: sessionId,
  /** Set when a process asks (a connection) or would be started (a command). */
  processId: optional(processId),
  /** Wire ids of the asker, for cross reference only. */
  toolCallId: optional(string),
})
export type Origin = Infer<typeof origin>

/**
 * `approvals/request` -> `approvalsAnswer`. Blocks until decided by rule, owner or expiry. Cancelling
 * it (or closing the channel) withdraws the request. `gate` is the asker's mode.
 * An `allow` for a command carries `environment`: variables the asker must add to the child (proxy
 * lease). The asker compares `decision.subjectHash` with the hash of what it is about to do.
 */
export const approvalsRequest = object({
  subject,
  origin,
  gate: withDefault(gateMode, 'ask' as const),
  /** Scopes the asker can honour. */
  scopes: withDefault(array(scope), ['once', 'session', 'always'] as ('once' | 'session' | 'always')[]),
  /** Refused when this passes; 0 = no limit but the asker's own. */
  expiresInMs: withDefault(integer(0), 0),
  /** Why the asker wants it, in its own words; shown as such, and no part of what is decided. */
  reason: optional(string),
  /** Last words of this very command when its sandbox refused it before: it is to run again with other walls. */
  refused: optional(string),
})
export type ApprovalsRequest = Infer<typeof approvalsRequest>
export const approvalsAnswer = object({
  requestId,
  decision,
  environment: withDefault(record(string), {}),
  /** What the owner filled in, where the subject has a form (`answer-form.ts`) and was allowed. */
  content: optional(record(unknown)),
})
export type ApprovalsAnswer = Infer<typeof approvalsAnswer>
/** Notification host -> sidecar right after an `approvals/request` became a card: lets the asker report progress. */
export const approvalsPending = object({ requestId, origin })

// ---------------------------------------------------------------- sessions (mcp-server, exec-server -> host)

export const sessionFacts = object({
  id: sessionId,
  /** From clientInfo or clientName, shown as given (hidden characters made visible by the window). */
  agentName: string,
  agentVersion: optional(string),
  title: optional(string),
  cwd: optional(string),
  /** How it reached us: `mcp-stdio`, `mcp-http`, `exec-ws`, `exec-unix`, `app-server`, `command-line`. */
  via: string,
  /** A turn of it runs; absent where nobody can tell. */
  isWorking: optional(boolean),
  pid: optional(integer(1)),
  openedAtMs: integer(0),
})
export type SessionFacts = Infer<typeof sessionFacts>
/** Notifications: `sessions/opened` SessionFacts, `sessions/updated` SessionFacts, `sessions/closed`. */
export const sessionClosed = object({ id: sessionId, reason: optional(string), closedAtMs: integer(0) })

// ---------------------------------------------------------------- threads (host <-> mcp-server)

/**
 * host -> mcp-server `threads/call` -> the method's result: one request of the app-server protocol, made
 * as the owner's own client. Fails as the method fails, with its words.
 */
export const threadsCall = object({ method: string, params: unknown })
/**
 * Notification mcp-server -> host `threads/news`: notifications of that protocol about threads the host
 * has started or resumed. Deltas are joined and long texts cut; the stored item has all of it.
 */
export const threadsNews = object({ method: string, params: unknown })

// ---------------------------------------------------------------- processes (exec-server <-> host)

export const processFacts = object({
  id: processId,
  sessionId,
  /** The id the client chose on its own wire. */
  clientProcessId: string,
  /** The tool call that it runs for, where its client named one. */
  toolCallId: optional(string),
  argv: array(string),
  cwd: string,
  tty: boolean,
  pid: nullable(integer(1)),
  state: literal('starting', 'running', 'exited', 'closed', 'failed'),
  /** When it was asked for; once it runs, when it began to. */
  startedAtMs: integer(0),
  exitedAtMs: optional(integer(0)),
  exitCode: optional(integer()),
  /** Signal name when one ended it. */
  exitSignal: optional(string),
  /** Why a start failed, or what was stopped with it. */
  detail: optional(string),
  outputBytes: integer(0),
  /** Lowest sequence number still readable. */
  firstSeq: integer(0),
  nextSeq: integer(1),
  acceptsInput: boolean,
  requestId: optional(requestId),
})
export type ProcessFacts = Infer<typeof processFacts>
/** Notification exec-server -> host `processes/changed` {process}; at most one per process and 100 ms while only counts change. */
export const processChanged = object({ process: processFacts })
/** Notification exec-server -> host `processes/forgotten` {id}: its output can no longer be read. */
export const processForgotten = object({ id: processId })
/** host -> exec-server `processes/list` {} -> {processes}. Asked after every (re)start. */
export const processList = object({ processes: array(processFacts) })
/**
 * host -> exec-server `processes/read` -> processReadResult. Output with seq > afterSeq from memory or
 * spool, oldest first; waits up to waitMs when there is none. `gap` names a dropped range.
 */
export const processRead = object({
  id: processId,
  afterSeq: withDefault(integer(0), 0),
  maxBytes: withDefault(integer(1), 256 * 1024),
  waitMs: withDefault(integer(0), 0),
})
export const outputStream = literal('stdout', 'stderr', 'pty')
export type OutputStream = Infer<typeof outputStream>
export const processReadResult = object({
  chunks: array(object({ seq: integer(1), stream: outputStream, base64: string })),
  gap: optional(object({ fromSeq: integer(1), toSeq: integer(1), bytes: integer(0) })),
  nextSeq: integer(1),
  state: processFacts,
})
/** host -> exec-server `processes/write` {id, base64} -> {}; `processes/endInput` {id} -> {}. */
export const processWrite = object({ id: processId, base64: string })
export const processTarget = object({ id: processId })
export const processSignalName = literal('interrupt', 'terminate', 'kill', 'quit', 'hangup', 'stop', 'continue')
export type ProcessSignalName = Infer<typeof processSignalName>
/** host -> exec-server `processes/signal` -> {members}: who was hit. terminate = SIGTERM, then SIGKILL after 2 s. */
export const processSignal = object({ id: processId, signal: processSignalName })
/** host -> exec-server `processes/members` {id} -> {members}: the whole tree, setsid children included. */
export const processMember = object({
  pid: integer(1),
  ppid: integer(0),
  name: string,
  cpuMs: integer(0),
  rssBytes: integer(0),
  ownGroup: boolean,
})
export type ProcessMember = Infer<typeof processMember>
export const processMembers = object({ members: array(processMember) })
/** host -> exec-server `processes/resize` {id, columns, rows} -> {}. */
export const processResize = object({ id: processId, columns: integer(1, 1000), rows: integer(1, 1000) })
/**
 * Live output to a view goes over a MessagePort (app only): the host posts
 * `{type:'attachOutput', processId, afterSeq}` with one port; see `output-port.ts`.
 */

// ---------------------------------------------------------------- connections (network-proxy <-> host)

export const connectionFacts = object({
  id: connectionId,
  leaseId: optional(leaseId),
  host: string,
  port: integer(0, 65535),
  protocol: networkProtocol,
  method: optional(string),
  /** `asked` while it is held for the owner. */
  state: literal('asked', 'allowed', 'blocked', 'closed', 'failed'),
  verdict: optional(verdict),
  /** denied | not_allowed | not_allowed_local | dns_failed | approval_timeout | method_not_allowed | … */
  reason: optional(string),
  ruleId: optional(ruleId),
  requestId: optional(requestId),
  address: optional(string),
  clientAddress: optional(string),
  bytesIn: integer(0),
  bytesOut: integer(0),
  openedAtMs: integer(0),
  closedAtMs: optional(integer(0)),
  /** Equal blocks within 10 s are counted here instead of repeated. */
  count: withDefault(integer(1), 1),
  inspected: withDefault(boolean, false),
  detail: optional(unknown),
})
export type ConnectionFacts = Infer<typeof connectionFacts>
/** Notification network-proxy -> host `connections/changed` {connections}: batched, latest state of each. */
export const connectionsChanged = object({ connections: array(connectionFacts) })
/** host -> network-proxy `rules/set` {revision, rules} -> {revision} once in force. */
export const rulesSet = object({ revision: integer(0), rules: array(networkRule) })
/** host -> network-proxy `leases/grant` -> {environment}: proxy variables for one process. */
export const leaseGrant = object({
  leaseId,
  processId: optional(processId),
  sessionId,
  command: string,
  /** Where an earlier life of the proxy served this lease: its process still goes there. Taken again when it is free. */
  port: optional(integer(1, 65535)),
  /** What the process was asked to have beside the usual environment: its own certificate settings are kept. */
  envChanges: optional(record(nullable(string))),
})
export const leaseGranted = object({ environment: record(string) })
/** host -> network-proxy `leases/revoke` {leaseId} -> {}: open connections of the lease are closed. */
export const leaseRevoke = object({ leaseId })
