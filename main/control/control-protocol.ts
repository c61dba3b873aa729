/**
 * The control socket: JSON-RPC lines on `run/control.sock` between the command line and the host.
 *
 * | method | params -> result | |
 * |--|--|--|
 * | `control/hello` | helloParams -> helloResult | first; a wrong token is `forbidden` and the end |
 * | `host/invoke` | invokeParams -> the channel's result | every channel of the window but the desktop's |
 * | `feed/subscribe` | {} -> FeedSnapshot | then `feed/batch` notifications; `feed/stale` = subscribe again |
 * | `host/stop` | {} -> {} | stops the host as Ctrl-C would, after the answer |
 * | `run/start` | runStart -> runStarted | runs a command as a session; waits for its decision |
 * | `run/write` | runWrite -> {} | answered when the process can take more |
 * | `run/endInput`, `run/signal`, `run/resize` | -> {} | |
 * | `run/output` | notification runOutput | bytes in order; not sent while the client does not read |
 * | `run/exited` | notification runExited | after the last output |
 * | `shell/environment` | shellEnvironment -> {environment} | proxy variables for the shell `pid` |
 *
 * A run belongs to its connection: when the connection ends, the process is terminated.
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
} from '../../sidecars/protocol/decode.ts'
import { outputStream, processSignalName } from '../../sidecars/protocol/host-channel.ts'

/** Raised with every incompatible change of this file. */
export const CONTROL_PROTOCOL_VERSION = 1

export const helloParams = object({ token: string, protocolVersion: withDefault(integer(1), CONTROL_PROTOCOL_VERSION) })
export const helloResult = object({
  protocolVersion: integer(1),
  instanceId: string,
  version: string,
  kind: literal('app', 'headless'),
  pid: integer(1),
  /** Started for somebody and not by the owner: ends by itself when nobody needs it. */
  endsWhenIdle: optional(boolean),
})
export type HelloResult = Infer<typeof helloResult>

export const invokeParams = object({ channel: string, args: withDefault(array(unknown), []) })

export const terminalSize = object({ columns: integer(1, 1000), rows: integer(1, 1000) })

/** `runId` is the client's, unique on its connection: output may arrive before the answer to `run/start`. */
export const runStart = object({
  runId: string,
  argv: array(string),
  cwd: string,
  env: record(string),
  /** A terminal of this size, or pipes. */
  tty: nullable(terminalSize),
})
export const runStarted = object({ processId: string, sessionId: optional(string) })
export const runWrite = object({ runId: string, base64: string })
export const runTarget = object({ runId: string })
export const runSignal = object({ runId: string, signal: processSignalName })
export const runResize = object({ runId: string, columns: integer(1, 1000), rows: integer(1, 1000) })
export const runOutput = object({ runId: string, stream: outputStream, base64: string })
export const runExited = object({
  runId: string,
  exitCode: nullable(integer()),
  /** Name of the signal that ended it. */
  exitSignal: nullable(string),
  /** Output or the process itself was lost; one sentence. */
  detail: optional(string),
})
export type RunExited = Infer<typeof runExited>

export const shellEnvironment = object({ cwd: string, pid: integer(1) })
export const shellEnvironmentResult = object({ environment: record(string) })

/** `processes.read` over the control socket: bytes travel as base64. */
export const processReadLines = object({
  chunks: array(object({ seq: integer(1), stream: outputStream, base64: string })),
  gap: nullable(object({ fromSeq: integer(1), toSeq: integer(1), bytes: integer(0) })),
  nextSeq: integer(1),
})
export type ProcessReadLines = Infer<typeof processReadLines>
