import { ExecSessionLost, spawnErrorKindOf, type ExecClient } from '../../exec-server/client/index.ts'
import { object, optional, string, type Infer } from '../../protocol/decode.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { EnvironmentPolicy } from '../../protocol/exec-process.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { CommandStart, ExecPort, StartedProcess } from './exec-port.ts'

/**
 * Commands see the owner's environment without what looks like a secret: names with KEY, SECRET or
 * TOKEN are left out unless the agent sets them, which the owner then sees.
 */
const ENVIRONMENT: EnvironmentPolicy = {
  inherit: 'all',
  ignoreDefaultExcludes: false,
  exclude: [],
  set: {},
  includeOnly: [],
}
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set(['disconnected', 'timedOut'])
const CHECK_LIMIT_MS = 2_000
/** What the exec server says beside an error; the words of a denial are for the agent. */
const detail = object({ kind: optional(string), reason: optional(string) })

/** The exec server on `exec.sock`. The owner of the client closes it. */
export class ExecClientPort implements ExecPort {
  constructor(private readonly client: ExecClient) {}

  async start(command: CommandStart, signal: AbortSignal): Promise<StartedProcess> {
    const { sessionId, toolCallId, ...start } = command
    const metadata = { toolCallId, gatehouse: { sessionId, toolCallId, gate: 'ask' as const } }
    try {
      return await this.client.start({ ...start, envPolicy: ENVIRONMENT, metadata }, { signal })
    } catch (error) {
      throw startFailure(error, command.argv[0] ?? '')
    }
  }

  async check(): Promise<string | null> {
    try {
      await this.client.readStatus(AbortSignal.timeout(CHECK_LIMIT_MS))
      return null
    } catch (error) {
      return startFailure(error, '').message
    }
  }
}

/** One kind of error for all that can happen, worded for the agent. */
function startFailure(error: unknown, program: string): RpcError {
  if (error instanceof ExecSessionLost)
    return new RpcError(
      'unavailable',
      'the exec server ended meanwhile; it is restarted by itself, try again in a moment',
    )
  const message = error instanceof Error ? error.message : String(error)
  const isOurs = error instanceof RpcError
  if (isOurs ? UNREACHABLE.has(error.code) : isSystemError(error))
    return new RpcError('unavailable', `the exec server cannot be reached (${message}); try again in a moment`)
  if (!isOurs) return new RpcError('internal', message)
  const { kind, reason } = detailOf(error)
  if (error.code === 'denied' || kind === 'denied') return new RpcError('denied', reason ?? message)
  switch (spawnErrorKindOf(error)) {
    case 'spawnNotFound':
      return new RpcError('notFound', `the program ${program} was not found on the PATH`)
    case 'spawnPermissionDenied':
      return new RpcError('forbidden', `${program} may not be executed (permission denied)`)
    default:
      return error
  }
}

function detailOf(error: RpcError): Infer<typeof detail> {
  try {
    return detail(error.data ?? {}, 'data')
  } catch {
    return {}
  }
}

const isSystemError = (error: unknown): boolean => typeof (error as { code?: unknown }).code === 'string'
