/** The turns of a thread, one at a time: begun, worked on, aborted, stored, told as ended. */
import type { Turn } from '../../protocol/app-server/thread.ts'
import type { UserInput } from '../../protocol/app-server/thread-item.ts'
import { ModelFailure } from '../model/model-failure.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import {
  ActiveTurn,
  PLAIN_TURN,
  TurnAborted,
  type AbortReason,
  type PendingInput,
  type TurnKind,
  type TurnOptions,
} from './active-turn.ts'
import { compact } from './compaction.ts'
import type { LiveThread } from './live-thread.ts'
import type { Mailbox } from './mailbox.ts'
import { textMessage } from './model-history.ts'
import { environmentContext, INTERRUPTION_MARKER, openingMessages } from './prompt.ts'
import type { TokenUsage } from './response-reader.ts'
import { turnContextRecord, type Settings } from './thread-settings.ts'
import { usageView } from './token-usage.ts'
import { TurnStop } from './tool-call.ts'
import { runTurnLoop } from './turn-loop.ts'
import { inputMessages } from './user-input.ts'
import { uuid7 } from './uuid7.ts'

/** An aborted turn's work gets this long to end by itself before it is left behind. */
const ABORT_GRACE_MS = 100

export interface TurnRunnerOptions {
  baseInstructions: string
  developerInstructions: string | null
  compactPrompt: string | null
  /** Called when a turn has been stored and before its end is told. */
  onEnding: (turnId: string) => void
  /** Called when the thread has become idle, e.g. to start queued input. */
  onIdle: (lastTurn: 'completed' | 'interrupted' | 'failed') => void
}

type Work = (turn: ActiveTurn) => Promise<void>

/** Owned by the thread's session. */
export class TurnRunner {
  private closing = false

  constructor(
    private readonly thread: LiveThread,
    private readonly mailbox: Mailbox,
    private readonly options: TurnRunnerOptions,
  ) {}

  /** Begins a turn of the model with what a person said, or goes on with a known one. */
  beginRegular(input: PendingInput | null, options: TurnOptions = PLAIN_TURN, id?: string): Turn {
    return this.begin('regular', input, options, (turn) => this.regularTurn(turn), id)
  }

  /** The thread is idle. */
  begin(kind: TurnKind, input: PendingInput | null, options: TurnOptions, work: Work, id: string = uuid7()): Turn {
    const { thread } = this
    const turn = new ActiveTurn(id, kind, thread.settings, options, thread.services.nowMs())
    if (input) turn.pending.push(input)
    thread.active = turn
    // The answer to the request goes out first, then the turn's notifications.
    turn.done = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.run(turn, work))
    return { ...turn.view('inProgress', null), startedAt: null }
  }

  /** Shortens the history. */
  async compact(turn: ActiveTurn): Promise<void> {
    const usage = await this.shorten(turn)
    if (usage) this.thread.countUsage(turn, usage, this.thread.services.modelInfo(turn.settings.model))
    this.thread.memory.shortened()
  }

  /** A turn that is being stored counts as over; this waits until it is. */
  async untilEnded(): Promise<void> {
    if (this.thread.active?.isEnding) await this.thread.active.done
  }

  async replaceActive(): Promise<void> {
    const turn = this.thread.active
    turn?.abort('replaced')
    await turn?.done
  }

  startForMail(): void {
    if (this.thread.active || this.closing || !this.mailbox.wantsTurn) return
    this.beginRegular(null)
  }

  /** Ends the running turn, and no other begins. */
  async close(): Promise<void> {
    this.closing = true
    const turn = this.thread.active
    if (!turn?.aborted) turn?.abort('shutdown')
    await turn?.done
  }

  private async run(turn: ActiveTurn, work: Work): Promise<void> {
    const { thread } = this
    await thread.storage.acquire()
    thread.recordEvent({
      type: 'task_started',
      turn_id: turn.id,
      root_turn_id: turn.rootTurnId,
      started_at: Math.floor(turn.startedAtMs / 1000),
      kind: turn.kind,
    })
    thread.storage.append('turn_context', turnContextRecord(turn.id, turn.settings))
    thread.announceStatus()
    thread.emit('turn/started', { threadId: thread.id, turn: turn.view('inProgress', null) })
    let outcome: unknown
    do {
      const working = thread.memory
        .ready()
        .then(() => work(turn))
        .then(
          () => null,
          (error: unknown) => error,
        )
      outcome = await untilDoneOrAborted(turn, working)
      // On the disk itself before its end is told; what comes in meanwhile is worth another round.
      await thread.storage.sync()
    } while (outcome === null && turn.kind === 'regular' && turn.pending.length > 0 && !turn.aborted)
    turn.isEnding = true
    if (turn.aborted && (turn.signal.reason as TurnAborted).why === 'suspended') await this.leave(turn)
    else this.end(turn, outcome)
  }

  /** Another process goes on with it: nothing is told and nothing is recorded as its end. */
  private async leave(turn: ActiveTurn): Promise<void> {
    await this.thread.storage.persist()
    this.thread.forget(turn)
  }

  /** Without a pause in it: until the end is told the turn takes words, and from then on a new one does. */
  private end(turn: ActiveTurn, outcome: unknown): void {
    const { thread } = this
    const now = thread.services.nowMs()
    const stopped = outcome instanceof TurnStop
    const why: AbortReason | null = turn.aborted
      ? (turn.signal.reason as TurnAborted).why
      : stopped
        ? 'interrupted'
        : null
    if (stopped) turn.abort('interrupted')
    const status = why ? 'interrupted' : outcome ? 'failed' : 'completed'
    for (const item of thread.history.repair()) thread.storage.append('response_item', item)
    if (why === 'interrupted' && turn.kind === 'regular') thread.record(textMessage('user', INTERRUPTION_MARKER))
    if (status === 'failed') this.fail(turn, outcome)
    const diff = turn.diff.text
    const times = {
      turn_id: turn.id,
      root_turn_id: turn.rootTurnId,
      completed_at: Math.floor(now / 1000),
      duration_ms: now - turn.startedAtMs,
    }
    thread.recordEvent(
      why ? { type: 'turn_aborted', reason: why, ...times } : { type: 'task_complete', ...times, error: turn.error },
    )
    thread.storage.publish()
    if (diff !== '') thread.emit('turn/diff/updated', { threadId: thread.id, turnId: turn.id, diff })
    thread.forget(turn)
    this.options.onEnding(turn.id)
    thread.announceStatus()
    thread.emit('turn/completed', { threadId: thread.id, turn: turn.view(status, now) })
    if (this.closing) return
    this.startForMail()
    if (!thread.active) this.options.onIdle(status)
  }

  private fail(turn: ActiveTurn, outcome: unknown): void {
    const failure = outcome instanceof ModelFailure ? outcome : null
    turn.error = {
      message: (outcome as Error).message,
      codexErrorInfo: failure?.kind ?? 'other',
      additionalDetails: null,
    }
    const { thread } = this
    thread.emit('error', { threadId: thread.id, turnId: turn.id, error: turn.error, willRetry: false })
  }

  private async regularTurn(turn: ActiveTurn): Promise<void> {
    const { thread } = this
    if (thread.history.length === 0) thread.record(...(await this.opening(turn.settings)))
    await runTurnLoop(thread, turn, {
      onInput: () => this.takeInput(turn),
      onResponse: (_, response) => this.tellResponse(turn, response),
      onUsage: (_, usage, model) => thread.countUsage(turn, usage, model),
      compactIfFull: async (_, model) => {
        if (!thread.memory.isFull(model)) return
        const usage = await this.shorten(turn)
        thread.memory.shortened()
        if (usage) thread.countUsage(turn, { ...usage, totalTokens: 0 }, model)
      },
    })
  }

  private tellResponse(
    turn: ActiveTurn,
    { responseId, usage }: { responseId: string | null; usage: TokenUsage | null },
  ): void {
    const { thread } = this
    if (!thread.tellsRawEvents) return
    const raw = { threadId: thread.id, turnId: turn.id, responseId, usage: usage && usageView(usage) }
    thread.emit('rawResponse/completed', raw)
  }

  private async takeInput(turn: ActiveTurn): Promise<void> {
    const { thread } = this
    thread.record(...this.mailbox.take())
    for (const pending of turn.pending.splice(0)) {
      // The model's account first: what people are shown is in the file together with it.
      thread.record(...(await inputMessages(pending)))
      if (pending.input.length > 0) this.showInput(turn, pending.input, pending.clientId)
    }
    // A new thread can be listed before the model is even asked.
    if (thread.storage.log && !thread.storage.log.listed) await thread.storage.materialize()
  }

  private showInput(turn: ActiveTurn, content: UserInput[], clientId: string | null): void {
    const item = { type: 'userMessage' as const, id: uuid7(), clientId, content }
    this.thread.finishItem(turn.id, item, this.thread.beginItem(turn.id, item))
  }

  private async shorten(turn: ActiveTurn): Promise<TokenUsage | null> {
    return compact(this.thread, turn, await this.opening(turn.settings), this.options.compactPrompt)
  }

  private async opening(settings: Settings): Promise<ResponseItem[]> {
    const { services } = this.thread
    const roots = await services.sandboxRoots(settings)
    return openingMessages({
      baseInstructions: this.options.baseInstructions,
      developerInstructions: this.options.developerInstructions,
      environment: environmentContext(settings, roots, services.shell.name, new Date(services.nowMs())),
    })
  }
}

/** After an abort the work has a moment to end; whatever it does later no longer counts. */
function untilDoneOrAborted(turn: ActiveTurn, working: Promise<unknown>): Promise<unknown> {
  const aborted = new Promise<unknown>((resolve) => {
    const onAbort = () => setTimeout(() => resolve(turn.signal.reason), ABORT_GRACE_MS)
    if (turn.aborted) onAbort()
    else turn.signal.addEventListener('abort', onAbort, { once: true })
  })
  return Promise.race([working, aborted])
}
