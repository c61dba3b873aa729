import type { ProcessReadReply } from '../../protocol/exec-process.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import { catchUp } from './catch-up.ts'
import { EventOrder } from './event-order.ts'
import { ConnectionLost, type ExecSessionLost } from './exec-errors.ts'
import { OutputWindow } from './output-window.ts'
import type { OutputGap, ProcessEvent, ProcessExit } from './process-event.ts'
import { settled } from './settled.ts'

export interface RouteTimes {
  /** How long a missing number may still be on its way before it is asked for. */
  holeGraceMs: number
  /** How long after the exit the close may be missing before it is asked for. */
  closeGraceMs: number
}
export const DEFAULT_ROUTE_TIMES: RouteTimes = { holeGraceMs: 250, closeGraceMs: 2000 }
/** A process whose grandchildren keep its output open is asked about ever more rarely, up to this. */
const MAX_CLOSE_GRACE_MS = 30_000

export interface RouteServer {
  /** One `process/read`; waits for a connection. */
  read(afterSeq: number, maxBytes: number): Promise<ProcessReadReply>
  /** Nothing more will come: the route can be taken down. */
  onOver(): void
}

/** Where the events of one process arrive, whichever connection brings them. */
export class ProcessRoute {
  readonly window: OutputWindow
  /** True from the server's word that it runs; before that, the server not knowing it means nothing. */
  isStarted = false
  exitSeq: number | null = null
  private readonly order = new EventOrder((event) => this.deliver(event))
  private readonly exit = settled<ProcessExit>()
  private readonly close = settled<void>()
  private holeTimer: NodeJS.Timeout | undefined
  private closeTimer: NodeJS.Timeout | undefined
  private catching: Promise<void> | undefined
  private over: 'closed' | ExecSessionLost | undefined

  constructor(
    private readonly server: RouteServer,
    bufferBytes: number,
    private readonly times: RouteTimes,
  ) {
    this.window = new OutputWindow(bufferBytes)
  }

  get exited(): Promise<ProcessExit> {
    return this.exit.promise
  }
  get closed(): Promise<void> {
    return this.close.promise
  }
  get isClosed(): boolean {
    return this.over === 'closed'
  }
  get failure(): ExecSessionLost | undefined {
    return this.over === 'closed' ? undefined : this.over
  }
  /** The number after the last one delivered. */
  get nextSeq(): number {
    return this.order.nextSeq
  }

  receive(event: ProcessEvent): void {
    if (this.over) return
    this.order.add(event)
    if (this.order.hasHole) this.watchHole()
  }

  /** A close that came without a number: it follows everything else. */
  receiveUnnumberedClose(): void {
    this.receive({ kind: 'closed', seq: this.order.endSeq })
  }

  /** Fetches everything that was missed. Safe to call at any time; calls share one run. */
  catchUp(): Promise<void> {
    if (this.over) return Promise.resolve()
    this.catching ??= this.runCatchUp().finally(() => (this.catching = undefined))
    return this.catching
  }

  /** The session is over: wakes every reader with one error. */
  fail(error: ExecSessionLost): void {
    if (this.over) return
    this.over = error
    this.exit.reject(error)
    this.close.reject(error)
    this.end()
  }

  private async runCatchUp(): Promise<void> {
    try {
      await catchUp(
        this.order,
        () => this.exitSeq !== null || this.order.holds('exited'),
        (afterSeq, maxBytes) => this.server.read(afterSeq, maxBytes),
      )
    } catch (error) {
      // After a lost connection the recovery calls again.
      if (error instanceof ConnectionLost || this.over || !this.isStarted) return
      if (error instanceof RpcError) this.giveUp()
      else throw error
    }
  }

  /** The server cannot tell any more: what is here is all there will be of the past. */
  private giveUp(): void {
    if (this.order.hasHole) this.order.skipTo(this.order.holeEndSeq)
    else if (this.exitSeq !== null) this.order.add({ kind: 'closed', seq: this.order.nextSeq })
  }

  private deliver(event: ProcessEvent | OutputGap): void {
    if (this.over) return
    switch (event.kind) {
      case 'output':
      case 'gap':
        this.window.push(event)
        return
      case 'exited':
        this.exitSeq = event.seq
        this.exit.resolve({ exitCode: event.exitCode, sandboxDenied: event.sandboxDenied })
        this.awaitClose(this.times.closeGraceMs)
        return
      case 'closed':
        this.over = 'closed'
        this.exit.resolve({ exitCode: null, sandboxDenied: false })
        this.close.resolve()
        this.end()
    }
  }

  /** Asks for a missing number that has not come by itself after a while. */
  private watchHole(): void {
    if (this.holeTimer) return
    const missing = this.order.nextSeq
    this.holeTimer = setTimeout(() => {
      this.holeTimer = undefined
      if (this.over || !this.order.hasHole) return
      const asked = this.order.nextSeq === missing ? this.catchUp() : Promise.resolve()
      void asked.then(() => {
        if (this.order.hasHole && !this.over) this.watchHole()
      })
    }, this.times.holeGraceMs)
    this.holeTimer.unref()
  }

  /**
   * A close can be lost, and it can be long in coming while a grandchild holds the output open: the
   * server is asked which it is, ever more rarely.
   */
  private awaitClose(delayMs: number): void {
    this.closeTimer = setTimeout(() => {
      void this.catchUp().then(() => {
        if (!this.over) this.awaitClose(Math.min(delayMs * 2, MAX_CLOSE_GRACE_MS))
      })
    }, delayMs)
    this.closeTimer.unref()
  }

  private end(): void {
    clearTimeout(this.holeTimer)
    clearTimeout(this.closeTimer)
    this.window.wake()
    this.server.onOver()
  }
}
