/**
 * The exec server's wire, part 1: handshake and processes. Method names, params, results and
 * notifications as the Codex CLI 0.171.0 speaks them. Chunks are standard base64 with padding, paths
 * are `file:` URIs (path-uri.ts).
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
  u64,
  whenAbsent,
  withDefault,
  type Infer,
} from './decode.ts'
import { environmentInfo } from './exec-environment.ts'
import { gateMode, outputStream } from './host-channel.ts'
import { networkProxyLaunch } from './exec-network.ts'
import { sandboxObject } from './exec-sandbox.ts'

/** Wire numbers that only the exec server uses, beside those of JSON-RPC. */
export const EXEC_ERROR = {
  /** A file, directory or file handle does not exist. */
  notFound: -32004,
  /** The session has another connection; the client tries again. */
  alreadyAttached: -32010,
} as const

// ---------------------------------------------------------------- handshake

/** `initialize` -> initializeExecResult, then the notification `initialized`. */
export const initializeExecParams = object({ clientName: string, resumeSessionId: optional(string) })
export const initializeExecResult = object({ sessionId: string, environmentInfo: optional(environmentInfo) })
export type InitializeExecResult = Infer<typeof initializeExecResult>

// ---------------------------------------------------------------- process/start

export const environmentPolicy = object({
  inherit: literal('all', 'core', 'none'),
  /** False drops inherited names that contain KEY, SECRET or TOKEN. */
  ignoreDefaultExcludes: boolean,
  exclude: array(string),
  set: record(string),
  includeOnly: array(string),
})
export type EnvironmentPolicy = Infer<typeof environmentPolicy>

/**
 * Informational, except `gatehouse`: our own clients on exec.sock name the session that asks, so
 * that the approval is shown where it belongs. The server ignores it on agents' connections.
 */
export const startMetadata = object({
  threadId: optional(string),
  toolCallId: optional(string),
  gatehouse: optional(
    object({
      sessionId: string,
      toolCallId: optional(string),
      title: optional(string),
      gate: optional(gateMode),
      /** Size of the terminal from the first moment; without it 80 by 24. */
      terminal: optional(object({ columns: integer(1, 1000), rows: integer(1, 1000) })),
    }),
  ),
})
export type StartMetadata = Infer<typeof startMetadata>

/** Starts with one scope share what the startup files of their login shell made. */
export const shellSnapshotScope = object({ scopeId: string, shell: object({ name: string, path: string }) })
export type ShellSnapshotScope = Infer<typeof shellSnapshotScope>

export const processStartParams = object({
  /** Chosen by the client, unique within its session. */
  processId: string,
  argv: array(string),
  cwd: string,
  /** Overlay that wins over everything; the whole environment when `envPolicy` is absent. */
  env: record(string),
  tty: boolean,
  pipeStdin: whenAbsent(boolean, false),
  arg0: optional(string),
  envPolicy: optional(environmentPolicy),
  metadata: optional(startMetadata),
  shellSnapshot: optional(shellSnapshotScope),
  sandbox: optional(sandboxObject),
  enforceManagedNetwork: whenAbsent(boolean, false),
  managedNetwork: optional(
    object({
      loopbackPorts: optional(array(integer(0, 65535))),
      allowLocalBinding: optional(boolean),
      transparentTcp: optional(boolean),
    }),
  ),
  networkProxy: optional(networkProxyLaunch),
})
export type ProcessStartParams = Infer<typeof processStartParams>

export const processStartResult = object({
  processId: string,
  sandboxType: optional(literal('none', 'linuxSeccomp', 'macosSeatbelt', 'windowsRestrictedToken')),
})
/** `data.kind` of error -32603 when process/start could not spawn. */
export const spawnErrorKind = literal(
  'spawnNotFound',
  'spawnPermissionDenied',
  'spawnFailed',
  'sandboxUnavailable',
  'sandboxPreparation',
)
export type SpawnErrorKind = Infer<typeof spawnErrorKind>

// ---------------------------------------------------------------- process/read, write, signal, terminate

export const processReadParams = object({
  processId: string,
  afterSeq: withDefault(u64, 0),
  maxBytes: optional(u64),
  waitMs: withDefault(u64, 0),
})
export const readChunk = object({ seq: integer(1), stream: outputStream, chunk: string })
export const processReadReply = object({
  chunks: array(readChunk),
  nextSeq: integer(1),
  exited: boolean,
  exitCode: optional(integer()),
  closed: boolean,
  failure: optional(string),
  sandboxDenied: withDefault(boolean, false),
})
export type ProcessReadReply = Infer<typeof processReadReply>

export const processWriteParams = object({
  processId: string,
  chunk: string,
  /** Idempotency key: a repeat is acknowledged and not written. */
  writeId: string,
  /** Ends the piped stdin after this chunk. Ours only; other servers ignore it. */
  closeStdin: withDefault(boolean, false),
})
export const processWriteResult = object({
  status: literal('accepted', 'unknownProcess', 'stdinClosed', 'starting'),
})
export type WriteStatus = Infer<typeof processWriteResult>['status']

export const processSignalParams = object({ processId: string, signal: literal('interrupt') })
/** Ours: the wire of the reference has no such method. */
export const processResizeParams = object({ processId: string, columns: integer(1, 1000), rows: integer(1, 1000) })
export const processTerminateParams = object({ processId: string })
export const processTerminateResult = object({ running: boolean })

// ---------------------------------------------------------------- notifications (server -> client)

/** `process/output` */
export const outputNotification = object({
  processId: string,
  seq: integer(1),
  stream: outputStream,
  chunk: string,
})
/** `process/exited` */
export const exitedNotification = object({
  processId: string,
  seq: integer(1),
  exitCode: nullable(integer()),
  sandboxDenied: withDefault(boolean, false),
})
/** `process/closed`. Early servers sent it without `seq`. */
export const closedNotification = object({ processId: string, seq: optional(integer(1)) })
