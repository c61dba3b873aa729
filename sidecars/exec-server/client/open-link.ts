import { environmentInfo, type EnvironmentInfo } from '../../protocol/exec-environment.ts'
import { EXEC_ERROR, initializeExecResult } from '../../protocol/exec-process.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ExecConnector } from './carrier.ts'
import { ConnectionLost } from './exec-errors.ts'
import { ExecLink, type LinkListener } from './exec-link.ts'
import { abortable } from './settled.ts'

export interface OpenLinkOptions {
  connect: ExecConnector
  clientName: string
  resumeSessionId: string | null
  /** For the connection, and again for the handshake. */
  timeoutMs: number
  signal: AbortSignal
}
export interface OpenedLink {
  link: ExecLink
  sessionId: string
  /** Absent when the server tells nothing about itself; commands still run. */
  environment: EnvironmentInfo | undefined
}

/** The server answered `initialize` with an error: it is there, and it will not have this session. */
export class InitializeRefused extends Error {
  /** True when another connection still holds the session: the next attempt may succeed. */
  readonly isRetryable: boolean
  constructor(cause: RpcError) {
    super(`the exec server refused the session: ${cause.message}`, { cause })
    this.name = 'InitializeRefused'
    this.isRetryable = cause.wireCode === EXEC_ERROR.alreadyAttached
  }
}

/**
 * Connects and shakes hands once. Rejects with InitializeRefused, or with why there is no connection.
 */
export async function openLink(options: OpenLinkOptions, listener: LinkListener): Promise<OpenedLink> {
  const { signal, timeoutMs } = options
  const link = new ExecLink(await connectWithin(options), listener)
  const onAbort = () => link.drop('no longer wanted')
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    const params = { clientName: options.clientName, resumeSessionId: options.resumeSessionId }
    const hello = await link.request('initialize', params, initializeExecResult, { timeoutMs }).catch(asRefusal)
    link.notifyInitialized()
    const environment =
      hello.environmentInfo ??
      (await link
        .request('environment/info', {}, environmentInfo, { timeoutMs })
        // A server without that method still runs commands.
        .catch((error: unknown) => (error instanceof ConnectionLost ? Promise.reject(error as Error) : undefined)))
    return { link, sessionId: hello.sessionId, environment }
  } catch (error) {
    link.drop('the handshake failed')
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function asRefusal(error: unknown): never {
  if (!(error instanceof RpcError) || error.code === 'timedOut' || error instanceof ConnectionLost) throw error
  throw new InitializeRefused(error)
}

async function connectWithin({ connect, timeoutMs, signal }: OpenLinkOptions) {
  const attempt = new AbortController()
  const onAbort = () => attempt.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const timer = setTimeout(
    () => attempt.abort(new RpcError('timedOut', `no connection to the exec server within ${timeoutMs} ms`)),
    timeoutMs,
  )
  const connecting = connect(attempt.signal)
  try {
    return await abortable(connecting, attempt.signal)
  } catch (error) {
    // A connector that is slow to notice must not leave its connection behind.
    connecting.then(({ transport }) => transport.close('too late')).catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}
