/**
 * Commands of one thread: started by a tool call, answered after a while, and left running as
 * background terminals that later calls poll and type into. They outlive turns; the thread ends them.
 */
import { randomInt } from 'node:crypto'
import type { ExecProcess, ExecStart } from '../../exec-server/client/index.ts'
import type { CommandRequest } from './command-approval.ts'
import { OutputBuffer } from './output-buffer.ts'
import type { CommandStarter } from './services.ts'

const MAX_TERMINALS = 64
const MANY_TERMINALS = 60
/** The newest ones are never given up to make room. */
const PROTECTED_NEWEST = 8
/** How long ended commands may take to be told of when a thread closes. */
const END_GRACE_MS = 1000
/** Output that follows the exit closely still belongs to the answer. */
const TRAILING_OUTPUT_MS = 100

export interface TerminalEvents {
  /** Decoded text as it comes; never a part of a character. */
  onText(text: string): void
  /** Exit known and output complete. */
  onEnd(terminal: Terminal): void
}

export class Terminal {
  readonly output = new OutputBuffer()
  exitCode: number | null = null
  sandboxDenied = false
  /** Ended by us or lost with the exec server: it has no exit code of its own. */
  killed = false
  ended = false
  lastUsed = 0
  private unread = new OutputBuffer()
  private isRefusalTaken = false
  private readonly watchers = new Set<() => void>()

  constructor(
    readonly id: number,
    readonly itemId: string,
    readonly turnId: string,
    readonly command: string,
    readonly cwd: string,
    readonly tty: boolean,
    readonly process: ExecProcess,
    readonly startedAtMs: number,
    /** What was asked for, when it runs in a sandbox. */
    readonly confined: CommandRequest | null,
    private readonly events: TerminalEvents,
  ) {
    void this.read()
  }

  /** Text since the last answer; each piece is given once. */
  takeUnread(): string {
    const { text } = this.unread
    this.unread = new OutputBuffer()
    return text
  }

  /** Whether its sandbox is why it ended; true once. */
  takeRefusal(): boolean {
    if (!this.confined || this.exitCode === null || !this.sandboxDenied || this.isRefusalTaken) return false
    return (this.isRefusalTaken = true)
  }

  /** Waits until it has ended or `ms` passed. Rejects when the signal fires; the process goes on. */
  async settle(ms: number, signal: AbortSignal): Promise<void> {
    const until = Date.now() + ms
    while (!this.ended && Date.now() < until) {
      if (this.exitCode !== null)
        return this.wait(Math.min(TRAILING_OUTPUT_MS, until - Date.now()), signal, () => this.ended)
      await this.wait(until - Date.now(), signal, () => this.ended || this.exitCode !== null)
    }
  }

  /** Ends the whole process group. */
  async kill(): Promise<boolean> {
    if (this.ended) return false
    this.killed = true
    return (await this.process.terminate()).running
  }

  private async read(): Promise<void> {
    void this.process.exited.then(
      (exit) => {
        this.exitCode = exit.exitCode ?? -1
        this.sandboxDenied = exit.sandboxDenied
        this.wake()
      },
      () => undefined, // The reader below sees the same failure.
    )
    try {
      for await (const piece of this.process.output) {
        if (piece.kind === 'gap') this.take(`\n[… output ${piece.fromSeq}-${piece.toSeq} was not kept …]\n`)
        else this.take(this.output.push(piece.stream, piece.bytes), true)
      }
    } catch {
      this.killed = true
    }
    this.take(this.output.finish(), true)
    this.ended = true
    this.wake()
    this.events.onEnd(this)
  }

  private take(text: string, kept = false): void {
    if (text === '') return
    if (!kept) this.output.push('note', Buffer.from(text))
    this.unread.push('text', Buffer.from(text))
    this.events.onText(text)
  }

  private wake(): void {
    for (const watcher of this.watchers) watcher()
  }

  private wait(ms: number, signal: AbortSignal, until: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer)
        this.watchers.delete(check)
        signal.removeEventListener('abort', onAbort)
        settle()
      }
      const check = () => until() && finish(resolve)
      const onAbort = () => finish(() => reject(signal.reason as Error))
      const timer = setTimeout(() => finish(resolve), Math.max(0, ms))
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      this.watchers.add(check)
      check()
    })
  }
}

export interface TerminalStart {
  itemId: string
  turnId: string
  /** As shown in lists. */
  command: string
  start: ExecStart
  events: TerminalEvents
  signal: AbortSignal
  isApproved: boolean
  /** See {@link Terminal.confined}. */
  confined: CommandRequest | null
}

/** Owned by the thread. */
export class Terminals {
  private readonly byId = new Map<number, Terminal>()
  private clock = 0

  constructor(private readonly exec: () => CommandStarter) {}

  /** Starts a command. Rejects as ExecClient.start does. */
  async start(request: TerminalStart): Promise<Terminal> {
    await this.makeRoom()
    const process = await this.exec().start(request.start, { signal: request.signal, isApproved: request.isApproved })
    const terminal = new Terminal(
      this.freeId(),
      request.itemId,
      request.turnId,
      request.command,
      request.start.cwd,
      request.start.tty === true,
      process,
      Date.now(),
      request.confined,
      request.events,
    )
    this.byId.set(terminal.id, terminal)
    terminal.lastUsed = ++this.clock
    return terminal
  }

  get(id: number): Terminal | undefined {
    const terminal = this.byId.get(id)
    if (terminal) terminal.lastUsed = ++this.clock
    return terminal
  }

  /** Forgets one whose end the model has been told. */
  forget(terminal: Terminal): void {
    this.byId.delete(terminal.id)
  }

  /** So many that the oldest are given up soon. */
  get areMany(): boolean {
    return this.byId.size >= MANY_TERMINALS
  }

  running(): Terminal[] {
    return [...this.byId.values()].filter((terminal) => !terminal.ended)
  }

  async killAll(): Promise<void> {
    await Promise.allSettled(this.running().map((terminal) => terminal.kill()))
  }

  /** Kills all and waits for their ends to be told, for a moment: the thread is about to close. */
  async endAll(): Promise<void> {
    const running = this.running()
    await this.killAll()
    const ends = running.map((terminal) => terminal.settle(END_GRACE_MS, new AbortController().signal))
    await Promise.allSettled(ends)
  }

  /** Gives up the ended ones first, then the one unused for longest. */
  private async makeRoom(): Promise<void> {
    while (this.byId.size >= MAX_TERMINALS) {
      const byUse = [...this.byId.values()].sort((a, b) => a.lastUsed - b.lastUsed)
      const victim = byUse.find((terminal) => terminal.ended) ?? byUse.slice(0, -PROTECTED_NEWEST)[0]
      if (!victim) return
      this.byId.delete(victim.id)
      await victim.kill()
    }
  }

  private freeId(): number {
    for (;;) {
      const id = randomInt(1000, 100_000)
      if (!this.byId.has(id)) return id
    }
  }
}
