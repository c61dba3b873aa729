import { ExecSessionLost } from '../../exec-server/client/index.ts'
import type { SessionId } from '../../protocol/ids.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ExecPort, StartedProcess } from './exec-port.ts'
import { OutputEdges } from './output-edges.ts'
import type { ProcessRequest } from './process-request.ts'

export type ProcessStatus =
  | 'awaiting_approval'
  | 'running'
  | 'exited'
  /** Ended because its own time limit passed. */
  | 'timed_out'
  /** Ended on request: stop_process, a cancelled call, the end of the session. */
  | 'stopped'
  | 'denied'
  /** Could not be started. */
  | 'failed'
  /** The exec server went away and the process with it. */
  | 'lost'

export interface AgentProcessOptions {
  /** The name the agent knows it by, e.g. `p3`. */
  id: string
  sessionId: SessionId
  toolCallId: string
  /** Limit from the moment it runs; none when absent. */
  timeoutMs?: number | undefined
  /** Survives the call that started it. */
  isBackground: boolean
  /** Survives the session too. */
  isKept: boolean
}

/**
 * How long after the exit of the program itself its output may stay open (a child in the background
 * holds the pipe) before its result goes out without the rest.
 */
const DRAIN_MS = 1_500
/** How long a result waits for a group to end before it says that something is still alive. */
const STOP_LIMIT_MS = 5_000

/**
 * One command of an agent, from the question to its last byte. It is settled once its result is
 * final: denied, not started, or exited with its output drained.
 */
export class AgentProcess {
  status: ProcessStatus = 'awaiting_approval'
  exitCode: number | null = null
  /** Why it was denied, failed or lost: one sentence or the owner's words. */
  reason: string | null = null
  /** The program itself has exited, something it started still holds its output open. */
  isOutputOpen = false
  readonly output = new OutputEdges()
  /** The number of the exit among those of the output, once output has followed it. */
  exitSeq: number | null = null
  /** Resolves when it runs or never will. */
  readonly started: Promise<void>
  readonly settled: Promise<void>
  private running: StartedProcess | undefined
  private readonly withdrawal = new AbortController()
  private endsAs: 'stopped' | 'timed_out' | null = null
  private isSettled = false
  private startedAt = 0
  private endedAt = 0
  private limit: NodeJS.Timeout | undefined
  private drain: NodeJS.Timeout | undefined
  private resolveStarted: () => void = () => {}
  private resolveSettled: () => void = () => {}

  constructor(
    exec: ExecPort,
    readonly request: ProcessRequest,
    readonly options: AgentProcessOptions,
  ) {
    this.started = new Promise((resolve) => (this.resolveStarted = resolve))
    this.settled = new Promise((resolve) => (this.resolveSettled = resolve))
    const { sessionId, toolCallId, id } = options
    exec
      .start({ ...request, processId: `${sessionId}.${id}`, sessionId, toolCallId }, this.withdrawal.signal)
      .then((started) => this.run(started))
      .catch((error: unknown) => this.neverRan(error))
  }

  get id(): string {
    return this.options.id
  }
  /** The process on the exec server; undefined when it does not run yet or never did. */
  get onExecServer(): StartedProcess | undefined {
    return this.running
  }
  get hasSettled(): boolean {
    return this.isSettled
  }
  /** Nothing of it is left to stop. */
  get isOver(): boolean {
    return this.isSettled && !this.isOutputOpen
  }
  /** Running time so far, or in all. 0 before it ran. */
  get durationMs(): number {
    if (this.startedAt === 0) return 0
    return Math.round((this.endedAt === 0 ? performance.now() : this.endedAt) - this.startedAt)
  }

  /**
   * Ends it: withdraws the question while it waits for a decision, else stops the whole group.
   * Resolves when it has ended, or after 5 s with what could not be ended still there.
   */
  async stop(as: 'stopped' | 'timed_out' = 'stopped'): Promise<void> {
    if (this.isOver) return
    this.endsAs ??= as
    if (this.running) await this.running.terminate().catch((error: unknown) => this.couldNotStop(error))
    else this.withdrawal.abort()
    await this.settledWithin(STOP_LIMIT_MS)
  }

  private run(started: StartedProcess): void {
    this.running = started
    this.status = 'running'
    this.startedAt = performance.now()
    this.resolveStarted()
    // Told to stop while the answer was on its way.
    if (this.endsAs !== null) void started.terminate().catch((error: unknown) => this.couldNotStop(error))
    const { timeoutMs } = this.options
    if (timeoutMs !== undefined) this.limit = setTimeout(() => void this.stop('timed_out'), timeoutMs)
    const exited = started.exited.then(({ exitCode }) => this.onExited(exitCode))
    const drained = this.collect(started)
    void Promise.all([exited, drained]).then(
      () => this.onClosed(),
      (error: unknown) => this.onLost(error),
    )
  }

  private async collect(started: StartedProcess): Promise<void> {
    let lastSeq = 0
    for await (const output of started.readOutput()) {
      if (output.kind === 'gap') {
        lastSeq = output.toSeq
        continue
      }
      if (output.seq === lastSeq + 2) this.exitSeq = output.seq - 1
      lastSeq = output.seq
      this.output.push(output)
    }
  }

  private onExited(exitCode: number | null): void {
    this.exitCode = exitCode
    this.status = this.endsAs ?? 'exited'
    this.endedAt = performance.now()
    this.isOutputOpen = true
    clearTimeout(this.limit)
    this.drain = setTimeout(() => this.settle(), DRAIN_MS)
  }

  private onClosed(): void {
    this.isOutputOpen = false
    this.settle()
  }

  private onLost(error: unknown): void {
    this.isOutputOpen = false
    if (this.isSettled) return
    this.status = 'lost'
    this.reason =
      error instanceof ExecSessionLost
        ? 'the exec server ended, and the process with it'
        : error instanceof Error
          ? error.message
          : String(error)
    this.settle()
  }

  private neverRan(error: unknown): void {
    const isDenied = error instanceof RpcError && error.code === 'denied'
    this.status = isDenied ? 'denied' : this.endsAs === null ? 'failed' : 'stopped'
    if (this.status !== 'stopped') this.reason = error instanceof Error ? error.message : String(error)
    this.settle()
  }

  private couldNotStop(error: unknown): void {
    if (!this.isOver) this.reason = `it could not be stopped: ${error instanceof Error ? error.message : String(error)}`
  }

  private settle(): void {
    if (this.isSettled) return
    this.isSettled = true
    if (this.endedAt === 0) this.endedAt = performance.now()
    clearTimeout(this.limit)
    clearTimeout(this.drain)
    this.resolveStarted()
    this.resolveSettled()
  }

  private async settledWithin(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await Promise.race([this.settled, new Promise((resolve) => (timer = setTimeout(resolve, limitMs)))])
    clearTimeout(timer)
  }
}
