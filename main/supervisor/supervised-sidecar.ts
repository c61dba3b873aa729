import type { Decoder } from '../../sidecars/protocol/decode.ts'
import type { InitializeParams, InitializeResult, SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { NotificationHandler, RequestHandler, RequestOptions, RpcPeer } from '../../sidecars/rpc/peer.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { SidecarView } from '../../preload/api.ts'
import type { Launcher } from './launcher.ts'
import type { Ledger } from './ledger.ts'
import { sidecarEnvironment } from './sidecar-environment.ts'
import { SidecarGeneration } from './sidecar-generation.ts'
import { StderrTail } from './stderr-tail.ts'
import { backoffMs, type SupervisorTiming } from './timing.ts'

export interface SupervisedSidecarOptions {
  name: SidecarName
  launcher: Launcher
  ledger: Ledger
  timing: SupervisorTiming
  /** Asked before each start, so that a restarted sidecar gets the configuration of now. */
  initialize: () => Omit<InitializeParams, 'generation' | 'previousEndpoints'>
  log: (message: string) => void
}

type Status = Pick<SidecarView, 'state' | 'startedAtMs' | 'retryAtMs' | 'lastError'>

export type ReadyListener = (result: InitializeResult, generation: number) => void

/** Lines of stderr in the view; diagnostics show all that are kept. */
const VIEW_LINES = 20
/** New stderr lines alone change the view at most this often. */
const STDERR_VIEW_INTERVAL_MS = 500
const MAX_HISTORY = 20

/**
 * A sidecar as the rest of the host knows it: one object for all its generations.
 *
 * It is started again after every end nobody asked for, later and later, and stays `failed` after too
 * many in a short time. Handlers are registered once and apply to each generation; requests while it is
 * down fail at once with `unavailable`, and nothing of an old generation answers a request of a new one.
 */
export class SupervisedSidecar {
  readonly name: SidecarName
  private readonly stderr = new StderrTail()
  private readonly registrations: ((peer: RpcPeer) => void)[] = []
  private readonly readyListeners = new Set<ReadyListener>()
  private readonly changeListeners = new Set<(view: SidecarView) => void>()
  private readonly history: string[] = []
  private status: Status = { state: 'stopped', startedAtMs: null, retryAtMs: null, lastError: null }
  private generationNumber = 0
  private current: SidecarGeneration | undefined
  private ready: InitializeResult | undefined
  private lastEndpoints: Record<string, string> = {}
  private crashTimesMs: number[] = []
  private failuresInARow = 0
  private isWanted = false
  private isRestarting = false
  private running: Promise<void> | undefined
  private wake = () => {}
  private stderrTimer: NodeJS.Timeout | undefined

  constructor(private readonly options: SupervisedSidecarOptions) {
    this.name = options.name
  }

  /** What it told in its handshake, while it is ready. */
  get initializeResult(): InitializeResult | undefined {
    return this.ready
  }
  get generation(): number {
    return this.generationNumber
  }

  view(): SidecarView {
    return {
      name: this.name,
      ...this.status,
      generation: this.generationNumber,
      pid: this.current?.pid ?? null,
      endpoints: this.ready?.endpoints ?? {},
      restarts: Math.max(0, this.generationNumber - 1),
      stderrTail: this.stderr.lines(VIEW_LINES),
      warnings: this.ready?.warnings ?? [],
    }
  }

  /** State, past ends and every kept line of stderr, as text for a bug report. */
  diagnostics(): string {
    const { state, generation, pid, lastError, endpoints } = this.view()
    return [
      `${this.name}: ${state}, generation ${generation}, pid ${pid ?? 'none'}`,
      `endpoints: ${JSON.stringify(endpoints)}`,
      `last error: ${lastError ?? 'none'}`,
      '',
      'ends:',
      ...(this.history.length > 0 ? this.history : ['none']),
      '',
      'stderr:',
      ...this.stderr.lines(),
    ].join('\n')
  }

  onRequest<P, R>(method: string, decoder: Decoder<P>, handler: RequestHandler<P, R>): void {
    this.register((peer) => peer.onRequest(method, decoder, handler))
  }
  onNotification<P>(method: string, decoder: Decoder<P>, handler: NotificationHandler<P>): void {
    this.register((peer) => peer.onNotification(method, decoder, handler))
  }
  /** Called with each generation that became ready, at once when one is. Returns its disposer. */
  onReady(listener: ReadyListener): () => void {
    this.readyListeners.add(listener)
    if (this.ready) listener(this.ready, this.generationNumber)
    return () => this.readyListeners.delete(listener)
  }
  /** Called with the view after each change. Returns its disposer. */
  onChanged(listener: (view: SidecarView) => void): () => void {
    this.changeListeners.add(listener)
    return () => this.changeListeners.delete(listener)
  }

  /** Rejects with RpcError: `unavailable` while it is down, else what RpcPeer.request says. */
  async request<R>(method: string, params: unknown, decoder: Decoder<R>, options?: RequestOptions): Promise<R> {
    if (!this.current || !this.ready) throw this.unavailable()
    return this.current.peer.request(method, params, decoder, options)
  }
  /** Dropped while it is down: the next generation is told by whoever listens to `onReady`. */
  notify(method: string, params?: unknown): boolean {
    return this.current && this.ready ? this.current.peer.notify(method, params) : true
  }
  drained(): Promise<void> {
    return this.current?.peer.drained() ?? Promise.resolve()
  }

  /** Starts it; resolves when it is ready or has failed for the first time. */
  start(): Promise<void> {
    this.isWanted = true
    if (this.running && this.status.state !== 'starting') return Promise.resolve()
    return new Promise((resolve) => {
      const dispose = this.onChanged(({ state }) => {
        if (state === 'starting') return
        dispose()
        resolve()
      })
      this.running ??= this.run()
    })
  }

  /** Stops it for good; resolves when the process and everything below it are gone, or at the deadline. */
  async stop(deadlineMs: number): Promise<void> {
    this.isWanted = false
    this.wake()
    await this.current?.stop(deadlineMs)
    await this.running
  }

  /** Somebody's Restart or Retry: starts a new generation now and forgets past crashes. */
  async restart(deadlineMs = 4_500): Promise<void> {
    if (!this.isWanted) return this.start()
    this.crashTimesMs = []
    this.failuresInARow = 0
    if (!this.current) return this.wake()
    this.isRestarting = true
    await this.current.stop(deadlineMs)
  }

  private register(registration: (peer: RpcPeer) => void): void {
    this.registrations.push(registration)
    if (this.current) registration(this.current.peer)
  }

  private async run(): Promise<void> {
    while (this.isWanted) {
      const end = await this.liveOnce()
      if (!this.isWanted) break
      if (this.isRestarting) this.isRestarting = false
      else await this.recover(end)
    }
    this.running = undefined
    this.change({ state: 'stopped', retryAtMs: null })
  }

  /** One generation from launch to end; resolves with why it ended. */
  private async liveOnce(): Promise<string> {
    const { name, launcher, timing, ledger, log } = this.options
    const generation = ++this.generationNumber
    this.change({ state: 'starting', startedAtMs: Date.now(), retryAtMs: null })
    try {
      const child = await launcher.launch(name, { generation, env: sidecarEnvironment() })
      child.onStderr((chunk) => this.keepStderr(chunk))
      this.current = new SidecarGeneration(child, {
        name,
        timing,
        ledger,
        prepare: (peer) => {
          for (const registration of this.registrations) registration(peer)
        },
        onProblem: (problem) => log(`${name}: ${problem.kind}: ${problem.message}`),
      })
    } catch (error) {
      return `cannot be started: ${(error as Error).message}`
    }
    const life = this.current
    if (!this.isWanted) void life.stop(timing.killGraceMs)
    const readyAtMs = await life
      .handshake({ ...this.options.initialize(), generation, previousEndpoints: this.lastEndpoints })
      .then(
        (result) => {
          this.becomeReady(result, generation)
          return Date.now()
        },
        () => undefined,
      )
    const end = await life.ended
    this.stderr.end()
    this.current = undefined
    this.ready = undefined
    if (readyAtMs !== undefined && Date.now() - readyAtMs >= timing.backoffResetMs) this.failuresInARow = 0
    return end
  }

  private becomeReady(result: InitializeResult, generation: number): void {
    this.ready = result
    this.lastEndpoints = result.endpoints
    this.change({ state: 'ready' })
    for (const listener of this.readyListeners) listener(result, generation)
  }

  /** Notes a crash and waits until the next start is due, or somebody retries. */
  private async recover(end: string): Promise<void> {
    const { timing, log, name } = this.options
    const nowMs = Date.now()
    this.history.push(`${new Date(nowMs).toISOString()} generation ${this.generationNumber} ${end}`)
    if (this.history.length > MAX_HISTORY) this.history.shift()
    log(`${name}: generation ${this.generationNumber} ${end}`)
    this.failuresInARow++
    this.crashTimesMs = [...this.crashTimesMs.filter((at) => nowMs - at < timing.crashWindowMs), nowMs]
    const woken = new Promise<void>((resolve) => (this.wake = resolve))
    if (this.crashTimesMs.length >= timing.crashLimit) {
      this.change({ state: 'failed', lastError: end, retryAtMs: null })
      return woken
    }
    const waitMs = backoffMs(this.failuresInARow, timing)
    this.change({ state: 'backoff', lastError: end, retryAtMs: nowMs + waitMs })
    const timer = setTimeout(this.wake, waitMs)
    await woken
    clearTimeout(timer)
  }

  private keepStderr(chunk: Uint8Array): void {
    this.stderr.push(chunk)
    this.stderrTimer ??= setTimeout(() => {
      this.stderrTimer = undefined
      this.change({})
    }, STDERR_VIEW_INTERVAL_MS)
    this.stderrTimer.unref()
  }

  private change(changes: Partial<Status>): void {
    this.status = { ...this.status, ...changes }
    const view = this.view()
    for (const listener of this.changeListeners) listener(view)
  }

  private unavailable(): RpcError {
    const next = {
      starting: 'it is starting',
      ready: 'it is starting',
      backoff: 'it is about to be started again',
      failed: 'it failed repeatedly; look at its last error and restart it',
      stopped: 'it was stopped',
    }[this.status.state]
    return new RpcError('unavailable', `the ${this.name} is not running: ${next}`, { sidecar: this.name })
  }
}
