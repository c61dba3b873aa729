import type { OutputStream, ProcessFacts } from '../../protocol/host-channel.ts'
import type { ProcessId, RequestId, SessionId } from '../../protocol/ids.ts'
import { ProcessTree } from '../life/process-tree.ts'
import type { Child, ChildEvents, ChildExit } from './child.ts'
import { wireExitCode } from './exit-status.ts'
import type { OutputBlock } from './output-block.ts'
import { OutputLog, type OutputChunk } from './output-log.ts'
import type { OutputSpool } from './output-spool.ts'
import type { DenialWatch } from '../sandbox/denial-watch.ts'
import type { SandboxType } from '../sandbox/sandbox.ts'
import { ReaderPace } from './reader-pace.ts'
import { WriteIds } from './write-ids.ts'

/** Told of everything that happens to a process, in the order of the numbers. */
export interface ProcessObserver {
  onOutput(process: ManagedProcess, chunk: OutputChunk): void
  onExited(process: ManagedProcess, seq: number): void
  onClosed(process: ManagedProcess, seq: number): void
}

/** How far a process without a spool may be ahead of a reader: half of what is kept in memory. */
const MIN_LEAD_BYTES = 512 * 1024

/** Why the child's output is not being read. */
export type HoldReason = object

export interface ProcessSeed {
  sessionId: SessionId
  /** The id the client chose. */
  clientProcessId: string
  /** Of the tool call that it runs for, where the client named one. */
  toolCallId?: string | undefined
  argv: readonly string[]
  /** Native path, for people. */
  cwd: string
  tty: boolean
}

/**
 * One process: its child, its numbered output and how it ended. `starting` until `begin`, then
 * `running`; `exited` when the child ended; `closed` when no output can come any more.
 */
export class ManagedProcess implements ChildEvents {
  readonly log: OutputLog
  readonly writeIds = new WriteIds()
  readonly readerPace: ReaderPace
  /** When it was asked for; from `begin` on, when it began to run. Milliseconds since the epoch. */
  startedAtMs = Date.now()
  requestId: RequestId | undefined
  /** The piped stdin was ended on demand. */
  isInputEnded = false
  /** Everything it started; undefined until it runs. */
  tree: ProcessTree | undefined

  private walls: { type: SandboxType; denials: DenialWatch; release: () => void } | undefined
  private startAbort: AbortController | undefined
  private isStartWithdrawn = false
  private noted: string | undefined
  private current: ProcessFacts['state'] = 'starting'
  /** Let go of when it has closed: an ended process is kept for a while and should weigh little. */
  private child: Child | undefined
  private stdinKind: Child['stdin'] = 'none'
  private exit: ChildExit | undefined
  private exitedAtMs: number | undefined
  private exitSeq = 0
  private closeSeq = 0
  private isOutputOver = false
  private readonly observers = new Set<ProcessObserver>()
  private isOver = false
  private readonly endings: (() => void)[] = []
  private readonly holds = new Set<HoldReason>()
  private readonly waiters = new Set<() => void>()
  private events = 0

  constructor(
    readonly id: ProcessId,
    readonly seed: ProcessSeed,
    spool: OutputSpool | undefined,
    private readonly onNote: (process: ManagedProcess) => void,
  ) {
    this.readerPace = new ReaderPace(
      spool?.leadBytes ?? MIN_LEAD_BYTES,
      () => this.log.totalBytes,
      () => this.hold(this.readerPace),
      () => this.release(this.readerPace),
    )
    this.log = new OutputLog(spool, {
      onPressure: (isPressed) => (isPressed ? this.hold(this.log) : this.release(this.log)),
      onSpoolFailure: (error) => this.note(`older output could not be kept on disk: ${error.message}`),
    })
  }

  get state(): ProcessFacts['state'] {
    return this.current
  }
  get pid(): number | null {
    return this.tree?.rootPid ?? null
  }
  /** Fires when it is to be stopped before it has started. Only for processes that have to wait. */
  get startSignal(): AbortSignal {
    return (this.startAbort ??= new AbortController()).signal
  }
  get detail(): string | undefined {
    return this.noted
  }
  get isRunning(): boolean {
    return this.current === 'running'
  }
  get hasExited(): boolean {
    return this.exit !== undefined
  }
  get isClosed(): boolean {
    return this.current === 'closed'
  }
  /** Sequence number of the exit, 0 before it. */
  get exitedSeq(): number {
    return this.exitSeq
  }
  /** Sequence number of the close, 0 before it. */
  get closedSeq(): number {
    return this.closeSeq
  }
  /** As the wire has it; null before the exit. */
  get exitCode(): number | null {
    return this.exit ? wireExitCode(this.exit, this.seed.tty) : null
  }
  /** A guess whether it failed at the walls of its sandbox. */
  get sandboxDenied(): boolean {
    return this.walls?.denials.isDenied(this.exitCode) ?? false
  }
  /** Its last words, when it failed at the walls of its sandbox. */
  get refusal(): string | undefined {
    return this.sandboxDenied ? this.walls?.denials.lastWords : undefined
  }
  /**
   * The root and its children are bwrap's own processes: a signal that ends them would end the command at
   * once and take its exit code.
   */
  get hasWardens(): boolean {
    return this.walls?.type === 'linuxSeccomp'
  }
  /** Names under which its open outputs can be found among the descriptors of other processes. */
  get outputPaths(): readonly string[] {
    return this.child?.outputPaths ?? []
  }
  get stdin(): Child['stdin'] {
    return this.stdinKind
  }

  /** It will run behind walls; `release` is called when it has ended. */
  confine(type: SandboxType, denials: DenialWatch, release: () => void): void {
    this.walls = { type, denials, release }
  }

  /** The child is there. Its events may come from now on. */
  begin(child: Child, marker: string | undefined): void {
    this.child = child
    this.stdinKind = child.stdin
    this.tree = new ProcessTree(child.pid, marker)
    this.current = 'running'
    this.startedAtMs = Date.now()
    if (this.holds.size > 0) child.pause()
  }

  /** Stops it before it has started; whoever starts it must look. */
  withdrawStart(): void {
    if (this.current !== 'starting') return
    this.isStartWithdrawn = true
    this.startAbort?.abort()
  }
  get isWithdrawn(): boolean {
    return this.isStartWithdrawn
  }

  /** The start failed; nothing of it is left. */
  fail(detail: string): void {
    this.current = 'failed'
    this.over()
    this.note(detail)
    this.wake()
  }

  /** Calls `act` once it has closed, failed to start or is forgotten; at once when that has been. */
  whenOver(act: () => void): void {
    if (this.isOver) act()
    else this.endings.push(act)
  }
  private over(): void {
    this.isOver = true
    for (const act of this.endings.splice(0)) act()
  }

  /** A sentence for people: why the start failed, or what was stopped with it. */
  note(detail: string | undefined): void {
    if (this.noted === detail) return
    this.noted = detail
    this.onNote(this)
  }

  /** Observers are told after the log has the event. Returns what ends the observation. */
  observe(observer: ProcessObserver): () => void {
    this.observers.add(observer)
    return () => this.observers.delete(observer)
  }

  /** Stops reading output until every reason is released: the child blocks on its pipe. */
  hold(reason: HoldReason): void {
    this.holds.add(reason)
    if (this.holds.size === 1) this.child?.pause()
  }
  release(reason: HoldReason): void {
    if (this.holds.delete(reason) && this.holds.size === 0) this.child?.resume()
  }

  /** Counts what happens; to be read before looking, and handed to {@link eventAfter}. */
  get eventCount(): number {
    return this.events
  }

  /** Resolves when something has happened since `count`, after `timeoutMs`, or when `signal` fires. */
  eventAfter(count: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.events !== count || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.waiters.delete(done)
        resolve()
      }
      // setTimeout takes no more than 2^31 - 1 ms and would fire at once.
      const timer = setTimeout(done, Math.min(timeoutMs, 0x7fff_ffff)).unref()
      this.waiters.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** See {@link Child.write}. */
  write(bytes: Buffer): void | Promise<void> {
    return this.child?.write(bytes)
  }
  /** Nothing can be written after it. */
  endInput(): void {
    this.isInputEnded = this.stdin === 'pipe'
    this.child?.endInput()
  }
  get queuedInputBytes(): number {
    return this.child?.queuedInputBytes ?? 0
  }
  resize(columns: number, rows: number): void {
    this.child?.resize(columns, rows)
  }

  onOutput(stream: OutputStream, bytes: Buffer, block: OutputBlock | undefined): void {
    const chunk = this.log.append(stream, bytes, block)
    this.walls?.denials.note(chunk)
    for (const observer of this.observers) observer.onOutput(this, chunk)
    this.readerPace.check()
    this.wake()
  }

  onExit(exit: ChildExit): void {
    this.tree?.rootEnded()
    this.exit = exit
    this.exitedAtMs = Date.now()
    this.current = 'exited'
    if (exit.detail !== undefined) this.note(exit.detail)
    this.exitSeq = this.log.takeSeq()
    for (const observer of this.observers) observer.onExited(this, this.exitSeq)
    this.closeWhenOver()
    this.wake()
    // Nobody who waits for the end has to wait for this.
    setImmediate(() => this.walls?.release())
  }

  onOutputEnd(): void {
    this.isOutputOver = true
    this.closeWhenOver()
  }

  facts(): ProcessFacts {
    const { seed, exit } = this
    return {
      id: this.id,
      sessionId: seed.sessionId,
      clientProcessId: seed.clientProcessId,
      toolCallId: seed.toolCallId,
      argv: [...seed.argv],
      cwd: seed.cwd,
      tty: seed.tty,
      pid: this.pid,
      state: this.current,
      startedAtMs: this.startedAtMs,
      exitedAtMs: this.exitedAtMs,
      exitCode: this.exitCode ?? undefined,
      exitSignal: exit?.signal ?? undefined,
      detail: this.detail,
      outputBytes: this.log.totalBytes,
      firstSeq: this.log.firstSeq,
      nextSeq: this.log.nextSeq,
      acceptsInput: this.isRunning && this.stdin !== 'none' && !this.isInputEnded,
      requestId: this.requestId,
    }
  }

  /** Lets go of descriptors and disk. The child itself is somebody else's to stop. */
  dispose(): void {
    this.child?.dispose()
    this.readerPace.dispose()
    void this.log.dispose()
    this.over()
    this.wake()
  }

  private closeWhenOver(): void {
    if (!this.exit || !this.isOutputOver || this.current === 'closed') return
    this.current = 'closed'
    this.closeSeq = this.log.takeSeq()
    this.child?.dispose()
    this.child = undefined
    for (const observer of this.observers) observer.onClosed(this, this.closeSeq)
    this.observers.clear()
    this.over()
    this.wake()
  }

  private wake(): void {
    this.events++
    for (const waiter of this.waiters) waiter()
  }
}
