import type { Decoder } from '../../protocol/decode.ts'
import {
  environmentConfigResult,
  environmentInfo,
  environmentStatus,
  type EnvironmentConfigResult,
  type EnvironmentInfo,
  type ExecCapability,
} from '../../protocol/exec-environment.ts'
import { toPathUri } from '../../protocol/path-uri.ts'
import type { ExecConnector } from './carrier.ts'
import { ExecSessionLost } from './exec-errors.ts'
import type { LinkRequestOptions } from './exec-link.ts'
import type { ExecProcess } from './exec-process.ts'
import { ExecSession, type SessionOptions } from './exec-session.ts'
import { DEFAULT_ROUTE_TIMES, type RouteTimes } from './process-route.ts'
import { RemoteFiles } from './remote-files.ts'
import { RemoteHttp } from './remote-http.ts'
import { abortable, pause } from './settled.ts'
import { startProcess, type ExecStart } from './start-process.ts'

export interface ExecClientOptions
  extends Partial<Omit<SessionOptions, 'connect' | 'routeTimes' | 'onStateChange'>>, Partial<RouteTimes> {
  connect: ExecConnector
  onStateChange?: (state: ExecClientState) => void
}
/** `idle`: no session; the next call opens one. */
export type ExecClientState = 'idle' | 'connecting' | 'ready' | 'recovering' | 'closed'

/** The reference client's: 10 s each for connection and handshake, then 45 s of attempts every 100 ms. */
const DEFAULTS = {
  clientName: 'gatehouse',
  connectTimeoutMs: 10_000,
  recoveryMs: 45_000,
  retryMs: 100,
  bufferBytes: 1024 * 1024,
}
/** How long `close` waits for the processes it ends. */
const CLOSE_PATIENCE_MS = 2000

/**
 * A client of one exec server. It connects when first needed, all first users share one attempt, and a
 * lost connection is resumed behind the callers' backs; see {@link ExecSessionLost} for when that fails.
 * The owner calls `close`.
 */
export class ExecClient {
  readonly files = new RemoteFiles((signal) => this.openSession(signal))
  readonly http = new RemoteHttp((signal) => this.openSession(signal))
  private readonly options: SessionOptions
  private readonly stop = new AbortController()
  private session: ExecSession | undefined
  private opening: Promise<ExecSession> | undefined
  private currentState: ExecClientState = 'idle'

  constructor(private readonly given: ExecClientOptions) {
    this.options = {
      ...DEFAULTS,
      ...given,
      routeTimes: { ...DEFAULT_ROUTE_TIMES, ...pickTimes(given) },
      onStateChange: (state) => this.setState(state === 'over' ? 'idle' : state),
    }
  }

  get state(): ExecClientState {
    return this.currentState
  }
  /** The session's id on the server, while there is a session. */
  get sessionId(): string | undefined {
    return this.session?.id
  }

  /** Connects now instead of at the first call. Rejects with why there is no connection. */
  async connect(signal?: AbortSignal): Promise<void> {
    await this.openSession(signal)
  }

  /** See `startProcess`. */
  async start(start: ExecStart, options: { signal?: AbortSignal } = {}): Promise<ExecProcess> {
    return startProcess(await this.openSession(options.signal), start, options.signal)
  }

  /** What the server told about itself when it was connected; undefined when it told nothing. */
  async environment(signal?: AbortSignal): Promise<EnvironmentInfo | undefined> {
    return (await this.openSession(signal)).environment
  }

  async can(capability: ExecCapability): Promise<boolean> {
    return (await this.environment())?.capabilities[capability] === true
  }

  /**
   * Makes sure that the connection still works, for example after the machine slept: one without an
   * answer is dropped and resumed. Returns at once when there is none to check.
   */
  async confirmConnection(timeoutMs = 5000): Promise<void> {
    if (this.session?.state !== 'ready') return
    await (await this.session.liveLink()).confirmLife(timeoutMs)
  }

  /** Asks the server again. */
  readEnvironment(signal?: AbortSignal): Promise<EnvironmentInfo> {
    return this.request('environment/info', {}, environmentInfo, { signal })
  }

  async readStatus(signal?: AbortSignal): Promise<string> {
    return (await this.request('environment/status', {}, environmentStatus, { signal })).status
  }

  /** Subtrees of the configuration files that apply to `cwd` on the server's machine. */
  readEnvironmentConfig(
    query: { cwd: string; configPaths: string[][]; requirementsPaths: string[][] },
    signal?: AbortSignal,
  ): Promise<EnvironmentConfigResult> {
    const params = { ...query, cwd: toPathUri(query.cwd) }
    return this.request('environmentConfig/read', params, environmentConfigResult, { signal })
  }

  /** Any other method of the wire. Waits for a connection; never repeated after a lost one. */
  async request<R>(method: string, params: unknown, decoder: Decoder<R>, options: LinkRequestOptions = {}): Promise<R> {
    const session = await this.openSession(options.signal)
    return session.call(method, params, decoder, options)
  }

  /** Ends what still runs (waiting shortly for that), then the session. Later calls fail. */
  async close(message = 'the client was closed'): Promise<void> {
    if (this.currentState === 'closed') return
    const { session } = this
    const running = session && session.state === 'ready' ? [...session.routes.keys()] : []
    const ending = running.map((processId) =>
      session
        ?.call('process/terminate', { processId }, (value) => value)
        .catch(() => {
          // Without a connection the server ends them itself when it gives the session up.
        }),
    )
    if (ending.length > 0) await Promise.race([Promise.all(ending), pause(CLOSE_PATIENCE_MS)])
    this.stop.abort(new ExecSessionLost('closed-here', message))
    this.session = undefined
    this.setState('closed')
    session?.close(message)
  }

  private async openSession(signal?: AbortSignal): Promise<ExecSession> {
    this.stop.signal.throwIfAborted()
    if (this.session) return this.session
    this.opening ??= this.openOnce().finally(() => (this.opening = undefined))
    return abortable(this.opening, signal)
  }

  private async openOnce(): Promise<ExecSession> {
    this.setState('connecting')
    try {
      const session = await ExecSession.open(this.options, this.stop.signal)
      this.session = session
      void session.lost.then(() => {
        if (this.session === session) this.session = undefined
      })
      return session
    } catch (error) {
      this.setState('idle')
      throw error
    }
  }

  private setState(state: ExecClientState): void {
    if (this.currentState === state || this.currentState === 'closed') return
    this.currentState = state
    this.given.onStateChange?.(state)
  }
}

function pickTimes({ holeGraceMs, closeGraceMs }: Partial<RouteTimes>): Partial<RouteTimes> {
  return {
    ...(holeGraceMs === undefined ? {} : { holeGraceMs }),
    ...(closeGraceMs === undefined ? {} : { closeGraceMs }),
  }
}
