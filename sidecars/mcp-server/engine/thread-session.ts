/** A loaded thread: its settings, its history, its one active turn, and every operation on it. */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { ServerRequestMap, ServerRequestMethod } from '../../protocol/app-server/server-requests.ts'
import type { CommandExecutionItem, ThreadItem, UserInput } from '../../protocol/app-server/thread-item.ts'
import type { ThreadActiveFlag, ThreadStatus, ThreadTokenUsage, Turn } from '../../protocol/app-server/thread.ts'
import { ModelFailure } from '../model/model-failure.ts'
import type { ThreadLog } from '../rollout/thread-log.ts'
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
import { storedCommandItem } from './command-item-stream.ts'
import { Mailbox, type Mail } from './mailbox.ts'
import { ModelHistory, textMessage } from './model-history.ts'
import { environmentContext, INTERRUPTION_MARKER, openingMessages } from './prompt.ts'
import { reviewTurn, type ReviewTarget } from './review.ts'
import type { EngineServices, ModelInfo } from './services.ts'
import type { AudioChunk, Role } from '../realtime/dialect.ts'
import { StoreTrouble } from './store-trouble.ts'
import { Submissions, type TraceSubmission } from './submissions.ts'
import { Terminals } from './terminals.ts'
import { ThreadRealtime, type RealtimeStart } from './thread-realtime.ts'
import {
  threadSettings,
  turnContextRecord,
  withOverrides,
  type Settings,
  type SettingsOverrides,
} from './thread-settings.ts'
import type { DynamicToolSpec, SessionApprovals, AskMore, ThreadRuntime } from './thread-runtime.ts'
import { addUsage, tokenCountRecord, usageView } from './token-usage.ts'
import { TurnStop } from './tool-call.ts'
import { runTurnLoop } from './turn-loop.ts'
import { inputMessages } from './user-input.ts'
import { runUserShell } from './user-shell.ts'
import { uuid7 } from './uuid7.ts'

/** An aborted turn's work gets this long to end by itself before it is left behind. */
const ABORT_GRACE_MS = 100

export type TurnRefusal =
  | 'noActiveTurn'
  | 'notIdle'
  | 'wrongTurn'
  | 'notSteerable'
  | 'emptyInput'
  | 'mailboxFull'
  | 'shutDown'

/** What became of a request to leave the running turn to another process. */
export type SuspendOutcome =
  | { type: 'notActive' }
  | { type: 'unsupportedTask'; turnKind: TurnKind }
  /** Child agents are open; they cannot be left to another process. */
  | { type: 'hasLiveDescendants' }
  | { type: 'suspended'; turnId: string }

/** The operation does not fit the state; the wire layer words it. */
export class TurnRefused extends Error {
  override readonly name = 'TurnRefused'
  constructor(
    readonly why: TurnRefusal,
    readonly activeTurnId: string | null = null,
    readonly turnKind: TurnKind | null = null,
  ) {
    super(why)
  }
}

export interface StoredHistory {
  items: readonly ResponseItem[]
  usage: ThreadTokenUsage | null
}

export interface ThreadSessionOptions {
  id: string
  services: EngineServices
  settings: Settings
  /** Null for an ephemeral thread. */
  log: ThreadLog | null
  /** Called once, when the history is first needed: most threads that are opened are only looked at. */
  history: () => Promise<StoredHistory>
  baseInstructions: string
  developerInstructions: string | null
  compactPrompt: string | null
  dynamicTools: readonly DynamicToolSpec[]
  /** Clients hear of every item of the model's history, too. */
  rawEvents: boolean
  trace: TraceSubmission | null
  /** Called when a turn has been stored and before its end is told. */
  onEnding: (turnId: string) => void
  /** Called when the thread has become idle, e.g. to start queued input. */
  onIdle: (lastTurn: 'completed' | 'interrupted' | 'failed') => void
}

export class ThreadSession implements ThreadRuntime {
  readonly id: string
  readonly services: EngineServices
  readonly emit: Emit
  readonly history = new ModelHistory()
  readonly terminals: Terminals
  readonly dynamicTools: readonly DynamicToolSpec[]
  readonly approvals: SessionApprovals = {
    commands: new Set(),
    files: new Set(),
    mcpTools: new Set(),
    writeRoots: new Set(),
    network: false,
  }
  settings: Settings
  usage: ThreadTokenUsage | null = null
  private historyRead: Promise<void> | null = null
  private active: ActiveTurn | null = null
  private readonly flags: ThreadActiveFlag[] = []
  private readonly mailbox = new Mailbox()
  private readonly submissions: Submissions
  private lastTotalTokens = 0
  private closing = false
  private readonly storing: StoreTrouble
  private readonly realtime: ThreadRealtime

  constructor(private readonly options: ThreadSessionOptions) {
    this.id = options.id
    this.services = options.services
    this.emit = options.services.emit
    this.settings = options.settings
    this.terminals = new Terminals(options.services.exec)
    this.dynamicTools = options.dynamicTools
    this.submissions = new Submissions(options.id, options.trace)
    this.storing = new StoreTrouble({
      path: options.log?.thread.path ?? '',
      tell: (message) => this.warn(message),
      retry: () => void this.persist(),
    })
    this.realtime = new ThreadRealtime({
      id: options.id,
      emit: this.emit,
      nowMs: options.services.nowMs,
      handOver: (text) => this.handOver(text),
      note: (text) => void this.inject([textMessage('developer', text)]).catch(() => undefined), // It shuts down.
    })
  }

  get log(): ThreadLog | null {
    return this.options.log
  }

  get activeTurn(): ActiveTurn | null {
    return this.active
  }

  get status(): ThreadStatus {
    return this.active ? { type: 'active', activeFlags: [...new Set(this.flags)] } : { type: 'idle' }
  }

  // ------------------------------------------------------------------ operations

  /** Starts a turn, or adds the input to the running one. */
  turnInput(input: PendingInput, overrides: SettingsOverrides, options: TurnOptions): Promise<Turn> {
    return this.submissions.submit('user_input', async () => {
      const settings = withOverrides(this.settings, overrides)
      await this.untilEnded()
      if (this.active) {
        if (this.active.kind !== 'regular') throw new TurnRefused('notSteerable', this.active.id, this.active.kind)
        this.applySettings(settings)
        this.active.steer(input)
        return this.active.view('inProgress', null)
      }
      this.applySettings(settings)
      return this.begin('regular', input, options, (turn) => this.regularTurn(turn))
    })
  }

  /** Like turnInput on an idle thread; refused otherwise. */
  startIfIdle(input: PendingInput): Promise<Turn> {
    return this.submissions.submit('start_if_idle', async () => {
      await this.untilEnded()
      if (this.active) throw new TurnRefused('notIdle', this.active.id)
      return this.begin('regular', input, PLAIN_TURN, (turn) => this.regularTurn(turn))
    })
  }

  /** Adds input to exactly the turn named. */
  steer(expectedTurnId: string, input: PendingInput): Promise<string> {
    return this.submissions.submit('steer', async () => {
      await this.untilEnded()
      if (!this.active) throw new TurnRefused('noActiveTurn')
      if (this.active.id !== expectedTurnId) throw new TurnRefused('wrongTurn', this.active.id)
      if (this.active.kind !== 'regular') throw new TurnRefused('notSteerable', this.active.id, this.active.kind)
      if (input.input.length === 0) throw new TurnRefused('emptyInput')
      this.active.steer(input)
      return this.active.id
    })
  }

  /** Ends the turn; resolves after it is over and stored. */
  async interrupt(turnId: string | null): Promise<void> {
    const turn = await this.submissions.submit('interrupt', async () => {
      await this.untilEnded()
      if (!this.active) throw new TurnRefused('noActiveTurn')
      if (turnId !== null && this.active.id !== turnId) throw new TurnRefused('wrongTurn', this.active.id)
      this.active.abort('interrupted')
      return this.active
    })
    await turn.done
  }

  updateSettings(overrides: SettingsOverrides): Promise<void> {
    return this.submissions.submit('thread_settings', async () => {
      this.applySettings(withOverrides(this.settings, overrides))
      if (this.log?.materialized) await this.persist()
    })
  }

  /** Changes the running turn from its next request on; false when it is not the active one. */
  updateTurnSettings(turnId: string, overrides: SettingsOverrides): Promise<boolean> {
    return this.submissions.submit('turn_settings', () => {
      if (this.active?.id !== turnId) return false
      this.active.settings = withOverrides(this.active.settings, overrides)
      return true
    })
  }

  /** Shortens the history in a turn of its own; a running turn is replaced. */
  startCompaction(): Promise<Turn> {
    return this.submissions.submit('compact', async () => {
      await this.replaceActive()
      return this.begin('compact', null, PLAIN_TURN, async (turn) => {
        const opening = await this.opening(turn.settings)
        const usage = await compact(this, turn, opening, this.options.compactPrompt)
        if (usage) this.countUsage(turn, usage, this.services.modelInfo(turn.settings.model))
        this.lastTotalTokens = 0
      })
    })
  }

  /** Runs the person's own command: no sandbox, no approval; in a turn of its own when idle. */
  userShellCommand(command: string, timeoutMs: number | null): Promise<void> {
    return this.submissions.submit('user_shell', async () => {
      await this.untilEnded()
      if (this.active) {
        const turn = this.active
        void runUserShell(this, turn, command, timeoutMs).then(() =>
          turn.steer({ input: [], clientId: null, additionalContext: null }),
        )
        return
      }
      this.begin('userShell', null, PLAIN_TURN, (turn) => runUserShell(this, turn, command, timeoutMs))
    })
  }

  startReview(target: ReviewTarget): Promise<Turn> {
    return this.submissions.submit('review', async () => {
      await this.replaceActive()
      return this.begin('review', null, PLAIN_TURN, (turn) => reviewTurn(this, turn, target))
    })
  }

  /** Starts a realtime conversation; how that goes comes as notifications. */
  startRealtime(start: RealtimeStart): Promise<void> {
    return this.submissions.submit('realtime_conversation_start', async () => {
      await this.readHistory()
      this.realtime.start(start)
    })
  }

  realtimeAudio(audio: AudioChunk): Promise<void> {
    return this.submissions.submit('realtime_conversation_audio', () => this.realtime.appendAudio(audio))
  }

  realtimeText(role: Role, text: string): Promise<void> {
    return this.submissions.submit('realtime_conversation_text', () => this.realtime.appendText(role, text))
  }

  realtimeSpeech(text: string): Promise<void> {
    return this.submissions.submit('realtime_conversation_speech', () => this.realtime.appendSpeech(text))
  }

  stopRealtime(): Promise<void> {
    return this.submissions.submit('realtime_conversation_close', () => this.realtime.stop('requested'))
  }

  /** Adds response items to the history without a turn. */
  inject(items: readonly ResponseItem[]): Promise<void> {
    return this.submissions.submit('inject_items', async () => {
      await this.readHistory()
      await this.materialize()
      this.record(...items)
      await this.persist()
    })
  }

  /**
   * Replaces the history, after a rollback or revert was stored; the usage is what it was then, the settings
   * stay. Refused while a turn runs.
   */
  replaceHistory(store: () => Promise<StoredHistory>): Promise<void> {
    return this.submissions.submit('thread_rollback', async () => {
      await this.untilEnded()
      if (this.active) throw new TurnRefused('notIdle', this.active.id)
      this.historyRead = Promise.resolve()
      const { items, usage } = await store()
      this.history.replace(items)
      this.usage = usage
      this.lastTotalTokens = usage?.last.totalTokens ?? 0
    })
  }

  /** Takes a message for the model, kept until its next request; refused when too many wait. */
  receiveMail(mail: Mail): Promise<void> {
    return this.submissions.submit('inter_agent_communication', async () => {
      if (!this.mailbox.put(mail)) throw new TurnRefused('mailboxFull')
      await this.untilEnded()
      this.startForMail()
    })
  }

  /**
   * Starts a turn that another process had to leave, under its id and with no new input: the model is
   * asked again with what it knows. Refused unless idle; settings as for turnInput.
   */
  recoverTurn(turnId: string, overrides: SettingsOverrides, options: TurnOptions): Promise<Turn> {
    return this.submissions.submit('recover_turn', async () => {
      const settings = withOverrides(this.settings, overrides)
      await this.untilEnded()
      if (this.active) throw new TurnRefused('notIdle', this.active.id)
      this.applySettings(settings)
      return this.begin('regular', null, options, (turn) => this.regularTurn(turn), turnId)
    })
  }

  /**
   * Leaves the running turn to another process: it is not told as interrupted, neither to the model nor to
   * clients, and the thread closes. When the history cannot be stored the thread goes on here.
   */
  async suspend(): Promise<SuspendOutcome> {
    const outcome = await this.submissions.submit('suspend_turn_and_shutdown', async (): Promise<SuspendOutcome> => {
      await this.untilEnded()
      const turn = this.active
      if (!turn) return { type: 'notActive' }
      if (turn.kind !== 'regular') return { type: 'unsupportedTask', turnKind: turn.kind }
      await this.log?.flush(true)
      turn.abort('suspended')
      return { type: 'suspended', turnId: turn.id }
    })
    if (outcome.type === 'suspended') await this.shutdown()
    return outcome
  }

  /**
   * Ends everything in the order that leaves nothing to restart: turn, terminals, MCP servers, then the
   * log. Later operations are refused.
   */
  async shutdown(): Promise<void> {
    if (this.closing) return
    this.closing = true
    this.realtime.stop('requested')
    const turn = this.active
    if (!turn?.aborted) turn?.abort('shutdown')
    await turn?.done
    await this.terminals.endAll()
    await this.services.mcp.release(this.id)
    await this.submissions.close()
    this.storing.close()
    await this.log?.close()
  }

  // ------------------------------------------------------------------ what turns and tools use

  beginItem(turnId: string, item: ThreadItem): number {
    const startedAtMs = this.services.nowMs()
    this.emit('item/started', { item, threadId: this.id, turnId, startedAtMs })
    return startedAtMs
  }

  finishItem(turnId: string, item: ThreadItem, startedAtMs: number): void {
    const completedAtMs = this.services.nowMs()
    const stored = item.type === 'commandExecution' ? storedCommandItem(item as CommandExecutionItem) : item
    this.recordEvent({
      type: 'item_completed',
      thread_id: this.id,
      turn_id: turnId,
      // With its times, as clients get it: a long thread is answered without taking its items apart.
      item: { ...stored, startedAtMs, completedAtMs },
      started_at_ms: startedAtMs,
      completed_at_ms: completedAtMs,
    })
    // Whoever is told of it finds it again, also when this process is killed now.
    this.store()
    this.emit('item/completed', { item, threadId: this.id, turnId, completedAtMs })
    // A background terminal that ended between turns: no end of a turn is going to index it.
    if (!this.active) void this.persist()
  }

  record(...items: ResponseItem[]): void {
    this.history.add(...items)
    const turnId = this.options.rawEvents ? this.active?.id : undefined
    for (const item of items) {
      this.log?.append('response_item', item)
      if (turnId !== undefined) this.emit('rawResponseItem/completed', { threadId: this.id, turnId, item })
    }
  }

  recordEvent(event: Record<string, unknown>): void {
    this.log?.append('event_msg', event)
  }

  recordCompaction(message: string, history: readonly ResponseItem[]): void {
    this.log?.append('compacted', { message, replacement_history: history })
  }

  async ask<M extends ServerRequestMethod>(
    method: M,
    params: ServerRequestMap[M]['params'],
    signal: AbortSignal,
    flag: ThreadActiveFlag,
    { announce, subject, refused }: AskMore = {},
  ): Promise<ServerRequestMap[M]['answer']> {
    this.flags.push(flag)
    this.announceStatus()
    announce?.()
    try {
      return await this.services.requests.ask(method, params, {
        threadId: this.id,
        signal,
        ...(this.active && { turnEnds: this.active.done }),
        ...(subject && { subject }),
        ...(refused !== undefined && { refused }),
      })
    } finally {
      this.flags.splice(this.flags.indexOf(flag), 1)
      // A turn that is over has announced its own end.
      if (this.active && !this.active.aborted) this.announceStatus()
    }
  }

  warn(message: string): void {
    this.emit('warning', { threadId: this.id, message })
  }

  /** Puts all records into the file; they are not lost to a killed process after this. */
  store(): void {
    try {
      this.log?.write()
    } catch (error) {
      this.storing.failed(error)
    }
  }

  /** Like `store`; pages know it, too. */
  private publish(): void {
    try {
      this.log?.publish()
      this.storing.succeeded()
    } catch (error) {
      this.storing.failed(error)
    }
  }

  /** Writes and syncs; a full disk keeps the records in memory, is told once and tried again. */
  async persist(): Promise<void> {
    try {
      await this.log?.flush(true)
      this.storing.succeeded()
    } catch (error) {
      this.storing.failed(error)
    }
  }

  // ------------------------------------------------------------------ turns

  /** Reads the stored history, once; whatever was added meanwhile would stand in front of it. */
  private readHistory(): Promise<void> {
    this.historyRead ??= this.options.history().then(({ items, usage }) => {
      this.history.replace(items)
      this.usage ??= usage
      this.lastTotalTokens = usage?.last.totalTokens ?? 0
    })
    return this.historyRead
  }

  private applySettings(settings: Settings): void {
    if (settings === this.settings) return
    this.settings = settings
    this.recordEvent({
      type: 'thread_settings_applied',
      thread_id: this.id,
      thread_settings: turnContextRecord('', settings),
    })
    this.emit('thread/settings/updated', { threadId: this.id, threadSettings: threadSettings(settings) })
  }

  private begin(
    kind: TurnKind,
    input: PendingInput | null,
    options: TurnOptions,
    work: (turn: ActiveTurn) => Promise<void>,
    id: string = uuid7(),
  ): Turn {
    const turn = new ActiveTurn(id, kind, this.settings, options, this.services.nowMs())
    if (input) turn.pending.push(input)
    this.active = turn
    // The answer to the request goes out first, then the turn's notifications.
    turn.done = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.run(turn, work))
    return { ...turn.view('inProgress', null), startedAt: null }
  }

  private async run(turn: ActiveTurn, work: (turn: ActiveTurn) => Promise<void>): Promise<void> {
    await this.log?.acquire().catch((error: unknown) => this.storing.failed(error))
    this.recordEvent({
      type: 'task_started',
      turn_id: turn.id,
      root_turn_id: turn.rootTurnId,
      started_at: Math.floor(turn.startedAtMs / 1000),
      kind: turn.kind,
    })
    this.log?.append('turn_context', turnContextRecord(turn.id, turn.settings))
    this.announceStatus()
    this.emit('turn/started', { threadId: this.id, turn: turn.view('inProgress', null) })
    let outcome: unknown
    do {
      const working = this.readHistory()
        .then(() => work(turn))
        .then(
          () => null,
          (error: unknown) => error,
        )
      outcome = await this.untilDoneOrAborted(turn, working)
      // On the disk itself before its end is told; what comes in meanwhile is worth another round.
      await this.log?.sync().catch((error: unknown) => this.storing.failed(error))
    } while (outcome === null && turn.kind === 'regular' && turn.pending.length > 0 && !turn.aborted)
    turn.isEnding = true
    if (turn.aborted && (turn.signal.reason as TurnAborted).why === 'suspended') await this.leave(turn)
    else this.end(turn, outcome)
  }

  /** A turn that is being stored counts as over; this waits until it is. */
  private async untilEnded(): Promise<void> {
    if (this.active?.isEnding) await this.active.done
  }

  /** Another process goes on with it: nothing is told and nothing is recorded as its end. */
  private async leave(turn: ActiveTurn): Promise<void> {
    await this.persist()
    if (this.active === turn) this.active = null
    this.flags.length = 0
  }

  private startForMail(): void {
    if (this.active || this.closing || !this.mailbox.wantsTurn) return
    this.begin('regular', null, PLAIN_TURN, (turn) => this.regularTurn(turn))
  }

  /** After an abort the work has a moment to end; whatever it does later no longer counts. */
  private untilDoneOrAborted(turn: ActiveTurn, working: Promise<unknown>): Promise<unknown> {
    const aborted = new Promise<unknown>((resolve) => {
      const onAbort = () => setTimeout(() => resolve(turn.signal.reason), ABORT_GRACE_MS)
      if (turn.aborted) onAbort()
      else turn.signal.addEventListener('abort', onAbort, { once: true })
    })
    return Promise.race([working, aborted])
  }

  /** Without a pause in it: until the end is told the turn takes words, and from then on a new one does. */
  private end(turn: ActiveTurn, outcome: unknown): void {
    const now = this.services.nowMs()
    const stopped = outcome instanceof TurnStop
    const why: AbortReason | null = turn.aborted
      ? (turn.signal.reason as TurnAborted).why
      : stopped
        ? 'interrupted'
        : null
    if (stopped) turn.abort('interrupted')
    const status = why ? 'interrupted' : outcome ? 'failed' : 'completed'
    for (const item of this.history.repair()) this.log?.append('response_item', item)
    if (why === 'interrupted' && turn.kind === 'regular') this.record(textMessage('user', INTERRUPTION_MARKER))
    if (status === 'failed') this.fail(turn, outcome)
    const diff = turn.diff.text
    const times = {
      turn_id: turn.id,
      root_turn_id: turn.rootTurnId,
      completed_at: Math.floor(now / 1000),
      duration_ms: now - turn.startedAtMs,
    }
    this.recordEvent(
      why ? { type: 'turn_aborted', reason: why, ...times } : { type: 'task_complete', ...times, error: turn.error },
    )
    this.publish()
    if (diff !== '') this.emit('turn/diff/updated', { threadId: this.id, turnId: turn.id, diff })
    if (this.active === turn) this.active = null
    this.flags.length = 0
    this.options.onEnding(turn.id)
    this.announceStatus()
    this.emit('turn/completed', { threadId: this.id, turn: turn.view(status, now) })
    if (this.closing) return
    this.startForMail()
    if (!this.active) this.options.onIdle(status)
  }

  private fail(turn: ActiveTurn, outcome: unknown): void {
    const failure = outcome instanceof ModelFailure ? outcome : null
    turn.error = {
      message: (outcome as Error).message,
      codexErrorInfo: failure?.kind ?? 'other',
      additionalDetails: null,
    }
    this.emit('error', { threadId: this.id, turnId: turn.id, error: turn.error, willRetry: false })
  }

  private async regularTurn(turn: ActiveTurn): Promise<void> {
    if (this.history.length === 0) this.record(...(await this.opening(turn.settings)))
    await runTurnLoop(this, turn, {
      onInput: () => this.takeInput(turn),
      onResponse: (_, { responseId, usage }) => {
        if (this.options.rawEvents)
          this.emit('rawResponse/completed', {
            threadId: this.id,
            turnId: turn.id,
            responseId,
            usage: usage && usageView(usage),
          })
      },
      onUsage: (_, usage, model) => this.countUsage(turn, usage, model),
      compactIfFull: async (_, model) => {
        if (this.lastTotalTokens < model.autoCompactTokens) return
        const usage = await compact(this, turn, await this.opening(turn.settings), this.options.compactPrompt)
        this.lastTotalTokens = 0
        if (usage) this.countUsage(turn, { ...usage, totalTokens: 0 }, model)
      },
    })
  }

  private async takeInput(turn: ActiveTurn): Promise<void> {
    this.record(...this.mailbox.take())
    for (const pending of turn.pending.splice(0)) {
      // The model's account first: what people are shown is in the file together with it.
      this.record(...(await inputMessages(pending)))
      if (pending.input.length > 0) this.showInput(turn, pending.input, pending.clientId)
    }
    // A new thread can be listed before the model is even asked.
    if (this.log && !this.log.listed) await this.materialize()
  }

  private showInput(turn: ActiveTurn, content: UserInput[], clientId: string | null): void {
    const item = { type: 'userMessage' as const, id: uuid7(), clientId, content }
    this.finishItem(turn.id, item, this.beginItem(turn.id, item))
  }

  private async materialize(): Promise<void> {
    await this.log?.flush().catch((error: unknown) => this.storing.failed(error))
  }

  private async opening(settings: Settings): Promise<ResponseItem[]> {
    const roots = await this.services.sandboxRoots(settings)
    return openingMessages({
      baseInstructions: this.options.baseInstructions,
      developerInstructions: this.options.developerInstructions,
      environment: environmentContext(settings, roots, this.services.shell.name, new Date(this.services.nowMs())),
    })
  }

  /** Words from the realtime conversation, as ordinary input; gives what the turn said at its end. */
  private async handOver(text: string): Promise<string> {
    const input: PendingInput = { input: [{ type: 'text', text }], clientId: null, additionalContext: null }
    await this.turnInput(input, {}, PLAIN_TURN)
    const turn = this.active
    await turn?.done
    if (turn?.error) throw new Error(turn.error.message)
    const message = turn?.lastMessage
    return message?.type === 'agentMessage' ? message.text : 'It ended without a message.'
  }

  private async replaceActive(): Promise<void> {
    const turn = this.active
    turn?.abort('replaced')
    await turn?.done
  }

  private countUsage(
    turn: ActiveTurn,
    usage: {
      inputTokens: number
      cachedInputTokens: number
      outputTokens: number
      reasoningOutputTokens: number
      totalTokens: number
    },
    model: ModelInfo,
  ): void {
    this.lastTotalTokens = usage.totalTokens
    this.usage = addUsage(this.usage, usageView(usage), model.contextWindow)
    this.recordEvent(tokenCountRecord(this.usage))
    this.emit('thread/tokenUsage/updated', { threadId: this.id, turnId: turn.id, tokenUsage: this.usage })
  }

  private announceStatus(): void {
    this.emit('thread/status/changed', { threadId: this.id, status: this.status })
  }
}
