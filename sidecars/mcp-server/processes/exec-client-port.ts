import { ExecSessionLost, type ExecClient } from '../../exec-server/client/index.ts'
import { object, optional, string } from '../../protocol/decode.ts'
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
const CHECK_LIMIT_MS = 2_000
const denialDetail = object({ reason: optional(string) })

/** The exec server on `exec.sock`. The owner of the client closes it. */
export class ExecClientPort implements ExecPort {
  constructor(private readonly client: ExecClient) {}

  async start(command: CommandStart, signal: AbortSignal): Promise<StartedProcess> {
    const { sessionId, toolCallId, ...start } = command
    try {
      return await this.client.start(
        {
          ...start,
          envPolicy: ENVIRONMENT,
          metadata: { toolCallId, gatehouse: { sessionId, toolCallId, gate: 'ask' } },
        },
        { signal },
      )
    } catch (error) {
      throw startFailure(error)
    }
  }

  async check(): Promise<string | null> {
    try {
      await this.client.readStatus(AbortSignal.timeout(CHECK_LIMIT_MS))
      return null
    } catch (error) {
      return startFailure(error).message
    }
  }
}

/** One kind of error for all that can happen, worded for the agent. */
function startFailure(error: unknown): RpcError {
  if (error instanceof RpcError && error.code === 'denied') return new RpcError('denied', reasonOf(error), error.data)
  if (error instanceof RpcError && error.code !== 'disconnected') return error
  const isDown =
    error instanceof RpcError || error instanceof ExecSessionLost || (error as { code?: unknown }).code !== undefined
  const message = error instanceof Error ? error.message : String(error)
  return isDown
    ? new RpcError(
        'unavailable',
        `the exec server cannot be reached (${message}); it is restarted by itself, try again in a moment`,
      )
    : new RpcError('internal', message)
}

function reasonOf(error: RpcError): string {
  try {
    return denialDetail(error.data, 'data').reason ?? error.message
  } catch {
    return error.message
  }
}
