import type { Decoder } from '../../protocol/decode.ts'
import type { EnvironmentInfo } from '../../protocol/exec-environment.ts'
import { missingChanged } from '../../protocol/exec-files.ts'
import { bodyDelta } from '../../protocol/exec-http.ts'
import {
  closedNotification,
  exitedNotification,
  outputNotification,
  processReadReply,
} from '../../protocol/exec-process.ts'
import {
  policyDecision,
  policyRequest,
  type PolicyDecision,
  type PolicyReply,
  type PolicyRequest,
} from '../../protocol/exec-network.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ExecConnector } from './carrier.ts'
import { ExecSessionLost, ConnectionLost, type SessionEnd } from './exec-errors.ts'
import type { ExecLink, LinkListener, LinkRequestOptions } from './exec-link.ts'
import type { BodyStream } from './http-body.ts'
import { InitializeRefused, openLink, type OpenedLink } from './open-link.ts'
import { ProcessRoute, type RouteTimes } from './process-route.ts'
import { abortable, pause, settled, type Settled } from './settled.ts'

export interface SessionOptions {
  connect: ExecConnector
  clientName: string
  /** For one connection attempt, and again for its handshake. */
  connectTimeoutMs: number
  /** How long a lost connection is tried for. The server keeps a detached session for 80 s. */
  recoveryMs: number
  retryMs: number
  /** Newest output kept per process for readers. */
  bufferBytes: number
  routeTimes: RouteTimes
  /** Decides about a host that a process of this session wants to reach. Default: deny. */
  onPolicyRequest?: (request: PolicyRequest) => Promise<PolicyReply>
  /** Told what the proxy of a process of this session has decided. */
  onPolicyDecision?: (decision: PolicyDecision) => void
  onStateChange?: (state: SessionState) => void
  /** Odd but survived, one sentence for the log. */
  onOddity?: (message: string) => void
}
export type SessionState = 'ready' | 'recovering' | 'over'

/**
 * One session on an exec server, over as many connections as it takes. It is lost when no connection
 * could resume it in time or the server no longer knows it; everybody who waits then gets one error.
 */
export class ExecSession {
  readonly routes = new Map<string, ProcessRoute>()
  readonly bodies = new Map<string, BodyStream>()
  readonly watches = new Map<number, () => void>()
  /** Resolves with the end, once. */
  readonly lost: Promise<ExecSessionLost>
  private readonly ending = settled<ExecSessionLost>()
  private readonly stop = new AbortController()
  private link: ExecLink
  private linkAgain: Settled<ExecLink> | undefined
  private end: ExecSessionLost | undefined

  private constructor(
    private readonly options: SessionOptions,
    opened: OpenedLink,
  ) {
    this.lost = this.ending.promise
    this.id = opened.sessionId
    this.environment = opened.environment
    this.link = opened.link
    this.watchLink(opened.link)
  }

  readonly id: string
  environment: EnvironmentInfo | undefined

  /** Opens a new session; one attempt. */
  static async open(options: SessionOptions, signal: AbortSignal): Promise<ExecSession> {
    const opening: { session?: ExecSession } = {}
    const opened = await openLink(
      { ...options, resumeSessionId: null, timeoutMs: options.connectTimeoutMs, signal },
      // Nothing can arrive for a session before it exists.
      listenerFor(() => opening.session, options),
    )
    opening.session = new ExecSession(options, opened)
    options.onStateChange?.('ready')
    return opening.session
  }

  get state(): SessionState {
    if (this.end) return 'over'
    return this.linkAgain ? 'recovering' : 'ready'
  }

  /** The connection, as soon as there is one. Throws ExecSessionLost when there never will be. */
  async liveLink(signal?: AbortSignal): Promise<ExecLink> {
    if (this.end) throw this.end
    if (this.linkAgain) return abortable(this.linkAgain.promise, signal)
    return this.link
  }

  /** One request on the present connection; waits for a connection, never repeats. */
  async call<R>(method: string, params: unknown, decoder: Decoder<R>, options: LinkRequestOptions = {}): Promise<R> {
    const link = await this.liveLink(options.signal)
    return link.request(method, params, decoder, options)
  }

  /** A request that does no harm when it arrives twice: repeated until an answer comes. */
  async callUntilAnswered<R>(
    method: string,
    params: unknown,
    decoder: Decoder<R>,
    options: LinkRequestOptions = {},
  ): Promise<R> {
    for (;;) {
      const link = await this.liveLink(options.signal)
      try {
        return await link.request(method, params, decoder, options)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        await abortable(link.closed, options.signal)
      }
    }
  }

  /** Makes a place for the events of a process; they can come before the answer to its start. */
  addRoute(processId: string): ProcessRoute {
    if (this.routes.has(processId))
      throw new RpcError('invalidRequest', `this client already has a process with id ${processId}`)
    const route: ProcessRoute = new ProcessRoute(
      {
        read: (afterSeq, maxBytes) =>
          this.callUntilAnswered('process/read', { processId, afterSeq, maxBytes, waitMs: 0 }, processReadReply),
        onOver: () => {
          if (this.routes.get(processId) === route) this.routes.delete(processId)
        },
      },
      this.options.bufferBytes,
      this.options.routeTimes,
    )
    this.routes.set(processId, route)
    return route
  }

  /** Ends the session here. What runs on the server goes on until the server gives the session up. */
  close(message: string): void {
    this.lose('closed-here', message)
  }

  receive(method: string, params: unknown): void {
    switch (method) {
      case 'process/output': {
        const { processId, seq, stream, chunk } = outputNotification(params, 'params')
        this.routes.get(processId)?.receive({ kind: 'output', seq, stream, bytes: Buffer.from(chunk, 'base64') })
        return
      }
      case 'process/exited': {
        const { processId, ...exit } = exitedNotification(params, 'params')
        this.routes.get(processId)?.receive({ kind: 'exited', ...exit })
        return
      }
      case 'process/closed': {
        const { processId, seq } = closedNotification(params, 'params')
        if (seq === undefined) this.routes.get(processId)?.receiveUnnumberedClose()
        else this.routes.get(processId)?.receive({ kind: 'closed', seq })
        return
      }
      case 'http/request/bodyDelta': {
        const delta = bodyDelta(params, 'params')
        this.bodies.get(delta.requestId)?.receive(delta)
        return
      }
      case 'network/policyDecision':
        this.options.onPolicyDecision?.(policyDecision(params, 'params'))
        return
      case 'fs/missingChanged':
        this.watches.get(missingChanged(params, 'params').watchId)?.()
    }
  }

  private watchLink(link: ExecLink): void {
    void link.closed.then((reason) => {
      if (this.end || this.link !== link) return
      // Streams, handles and watches belong to the connection that ended.
      const cause = new ConnectionLost(`the connection to the exec server ended: ${reason.message}`)
      for (const body of this.bodies.values()) body.fail(cause)
      this.watches.clear()
      return this.recover(reason.message)
    })
  }

  private async recover(why: string): Promise<void> {
    this.linkAgain = settled<ExecLink>()
    this.options.onStateChange?.('recovering')
    const deadlineMs = performance.now() + this.options.recoveryMs
    let last = why
    while (!this.end) {
      try {
        return this.adopt(await this.reopen())
      } catch (error) {
        last = error instanceof Error ? error.message : String(error)
        if (error instanceof InitializeRefused && !error.isRetryable) return this.lose('session-unknown', last, error)
      }
      if (performance.now() >= deadlineMs) break
      // Spread, so that the clients of a server that comes back do not all knock in the same instant.
      await pause(this.options.retryMs * (0.5 + Math.random()), this.stop.signal).catch(() => {})
    }
    const window = `${Math.round(this.options.recoveryMs / 1000)} s`
    this.lose('recovery-timed-out', `the exec server could not be reached again within ${window}: ${last}`)
  }

  private reopen(): Promise<OpenedLink> {
    return openLink(
      {
        ...this.options,
        resumeSessionId: this.id,
        timeoutMs: this.options.connectTimeoutMs,
        signal: this.stop.signal,
      },
      listenerFor(() => this, this.options),
    )
  }

  private adopt({ link, environment }: OpenedLink): void {
    this.link = link
    this.environment = environment ?? this.environment
    const waiting = this.linkAgain
    this.linkAgain = undefined
    this.watchLink(link)
    this.options.onStateChange?.('ready')
    waiting?.resolve(link)
    for (const route of this.routes.values()) void route.catchUp()
  }

  private lose(reason: SessionEnd, message: string, cause?: unknown): void {
    if (this.end) return
    const end = new ExecSessionLost(reason, message, { cause })
    this.end = end
    this.stop.abort(end)
    this.linkAgain?.reject(end)
    this.link.drop(message)
    for (const route of this.routes.values()) route.fail(end)
    for (const body of this.bodies.values()) body.fail(end)
    this.watches.clear()
    this.ending.resolve(end)
    this.options.onStateChange?.('over')
  }
}

function listenerFor(session: () => ExecSession | undefined, options: SessionOptions): LinkListener {
  return {
    onNotification: (method, params) => session()?.receive(method, params),
    onOddity: (message) => options.onOddity?.(message),
    async onRequest(method, params) {
      if (method !== 'network/policyRequest')
        throw new RpcError('methodNotFound', `exec-server client does not implement \`${method}\` yet`)
      const request = policyRequest(params, 'params')
      const isOurs = session()?.routes.has(request.processId) ?? false
      if (!isOurs || !options.onPolicyRequest)
        return { decision: { type: 'deny', reason: isOurs ? 'nobody here decides about hosts' : 'unknown process' } }
      return { decision: await options.onPolicyRequest(request) }
    },
  }
}
