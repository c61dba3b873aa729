/** The one turn that a thread works on: its signal, its waiting input, its open questions. */
import type { ThreadItem, UserInput } from '../../protocol/app-server/thread-item.ts'
import type { Turn, TurnError, TurnStatus } from '../../protocol/app-server/thread.ts'
import type { PlannedChange } from '../patch/plan-patch.ts'
import type { Settings } from './thread-settings.ts'
import { ToolLock } from './tool-lock.ts'
import { TurnDiff } from './turn-diff.ts'

export type TurnKind = 'regular' | 'compact' | 'review' | 'userShell'
export type AbortReason = 'interrupted' | 'replaced' | 'shutdown' | 'suspended'

/** Why a turn's signal fired. */
export class TurnAborted extends Error {
  override readonly name = 'TurnAborted'
  constructor(readonly why: AbortReason) {
    super(`the turn was ${why}`)
  }
}

export interface PendingInput {
  input: UserInput[]
  clientId: string | null
  additionalContext: Record<string, { value: string; kind?: string }> | null
}

export interface TurnOptions {
  outputSchema: unknown
  serviceTier: string | null
  /** Of the turn that a child agent works for; its own otherwise. */
  rootTurnId?: string
}

/** A turn with nothing special about it. */
export const PLAIN_TURN: TurnOptions = { outputSchema: null, serviceTier: null }

export class ActiveTurn {
  readonly controller = new AbortController()
  readonly lock = new ToolLock()
  readonly diff: TurnDiff
  readonly startedAtMs: number
  /** Steered in and not yet given to the model. */
  readonly pending: PendingInput[] = []
  /** Fires when input arrived while a response streams, so that the stream is dropped. */
  private preempt: (() => void) | null = null
  lastMessage: ThreadItem | null = null
  error: TurnError | null = null
  /** Grants of request_permissions that last as long as the turn. */
  readonly grantedWriteRoots: string[] = []
  grantedNetwork = false
  done: Promise<void> = Promise.resolve()
  /** Its work is over and it is being stored: nothing more can be added. */
  isEnding = false

  constructor(
    readonly id: string,
    readonly kind: TurnKind,
    /** The turn's own; `turn/settings/update` replaces them. */
    public settings: Settings,
    readonly options: TurnOptions,
    nowMs: number,
  ) {
    this.startedAtMs = nowMs
    this.diff = new TurnDiff(settings.cwd)
  }

  get rootTurnId(): string {
    return this.options.rootTurnId ?? this.id
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  get aborted(): boolean {
    return this.controller.signal.aborted
  }

  abort(why: AbortReason): void {
    this.controller.abort(new TurnAborted(why))
  }

  steer(input: PendingInput): void {
    this.pending.push(input)
    this.preempt?.()
  }

  /** While a response streams: `onInput` is called once when something is steered in. */
  whileStreaming(onInput: () => void): () => void {
    this.preempt = onInput
    return () => {
      if (this.preempt === onInput) this.preempt = null
    }
  }

  noteChanges(changes: readonly PlannedChange[]): void {
    this.diff.add(changes)
  }

  view(status: TurnStatus, nowMs: number | null): Turn {
    const withSummary = status === 'completed' && this.lastMessage
    return {
      id: this.id,
      rootTurnId: this.rootTurnId,
      items: withSummary ? [this.lastMessage!] : [],
      itemsView: withSummary ? 'summary' : 'notLoaded',
      status,
      error: this.error,
      startedAt: Math.floor(this.startedAtMs / 1000),
      completedAt: nowMs === null ? null : Math.floor(nowMs / 1000),
      durationMs: nowMs === null ? null : nowMs - this.startedAtMs,
    }
  }
}
