/** A loaded thread and every operation on it, one at a time, in order of arrival. */
import type { ThreadStatus, ThreadTokenUsage, Turn } from '../../protocol/app-server/thread.ts'
import type { AudioChunk, Role } from '../realtime/dialect.ts'
import type { ThreadLog } from '../rollout/thread-log.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import { PLAIN_TURN, type ActiveTurn, type PendingInput, type TurnKind, type TurnOptions } from './active-turn.ts'
import { LiveThread, type LiveThreadOptions } from './live-thread.ts'
import { Mailbox, type Mail } from './mailbox.ts'
import { textMessage, type ModelHistory } from './model-history.ts'
import { reviewTurn, type ReviewTarget } from './review.ts'
import type { EngineServices } from './services.ts'
import { Submissions, type TraceSubmission } from './submissions.ts'
import type { Terminals } from './terminals.ts'
import type { StoredHistory } from './thread-memory.ts'
import { ThreadRealtime, type RealtimeStart } from './thread-realtime.ts'
import { withOverrides, type Settings, type SettingsOverrides } from './thread-settings.ts'
import { TurnRefused } from './turn-refused.ts'
import { TurnRunner, type TurnRunnerOptions } from './turn-runner.ts'
import { runUserShell } from './user-shell.ts'

/** What became of a request to leave the running turn to another process. */
export type SuspendOutcome =
  | { type: 'notActive' }
  | { type: 'unsupportedTask'; turnKind: TurnKind }
  /** Child agents are open; they cannot be left to another process. */
  | { type: 'hasLiveDescendants' }
  | { type: 'suspended'; turnId: string }

export interface ThreadSessionOptions extends LiveThreadOptions, TurnRunnerOptions {
  trace: TraceSubmission | null
}

/** Owned by the thread manager. Operations are refused with TurnRefused, and with ThreadClosed after `shutdown`. */
export class ThreadSession {
  private readonly thread: LiveThread
  private readonly turns: TurnRunner
  private readonly mailbox = new Mailbox()
  private readonly submissions: Submissions
  private readonly realtime: ThreadRealtime
  private closing = false

  constructor(options: ThreadSessionOptions) {
    this.thread = new LiveThread(options)
    this.turns = new TurnRunner(this.thread, this.mailbox, options)
    this.submissions = new Submissions(options.id, options.trace)
    this.realtime = new ThreadRealtime({
      id: options.id,
      emit: this.thread.emit,
      nowMs: options.services.nowMs,
      handOver: (text) => this.handOver(text),
      note: (text) => void this.inject([textMessage('developer', text)]).catch(() => undefined), // It shuts down.
    })
  }

  get id(): string {
    return this.thread.id
  }

  get services(): EngineServices {
    return this.thread.services
  }

  get settings(): Settings {
    return this.thread.settings
  }

  get history(): ModelHistory {
    return this.thread.history
  }

  get usage(): ThreadTokenUsage | null {
    return this.thread.memory.usage
  }

  get terminals(): Terminals {
    return this.thread.terminals
  }

  /** Null for an ephemeral thread. */
  get log(): ThreadLog | null {
    return this.thread.storage.log
  }

  get activeTurn(): ActiveTurn | null {
    return this.thread.active
  }

  get status(): ThreadStatus {
    return this.thread.status
  }

  /** Starts a turn, or adds the input to the running one. */
  turnInput(input: PendingInput, overrides: SettingsOverrides, options: TurnOptions): Promise<Turn> {
    return this.submissions.submit('user_input', async () => {
      const settings = withOverrides(this.settings, overrides)
      await this.turns.untilEnded()
      const { active } = this.thread
      if (active) {
        if (active.kind !== 'regular') throw new TurnRefused('notSteerable', active.id, active.kind)
        this.thread.applySettings(settings)
        active.steer(input)
        return active.view('inProgress', null)
      }
      this.thread.applySettings(settings)
      return this.turns.beginRegular(input, options)
    })
  }

  /** Like turnInput on an idle thread; refused otherwise. */
  startIfIdle(input: PendingInput): Promise<Turn> {
    return this.submissions.submit('start_if_idle', async () => {
      await this.untilIdle()
      return this.turns.beginRegular(input)
    })
  }

  /** Adds input to exactly the turn named. */
  steer(expectedTurnId: string, input: PendingInput): Promise<string> {
    return this.submissions.submit('steer', async () => {
      await this.turns.untilEnded()
      const { active } = this.thread
      if (!active) throw new TurnRefused('noActiveTurn')
      if (active.id !== expectedTurnId) throw new TurnRefused('wrongTurn', active.id)
      if (active.kind !== 'regular') throw new TurnRefused('notSteerable', active.id, active.kind)
      if (input.input.length === 0) throw new TurnRefused('emptyInput')
      active.steer(input)
      return active.id
    })
  }

  /** Ends the turn; resolves after it is over and stored. */
  async interrupt(turnId: string | null): Promise<void> {
    const turn = await this.submissions.submit('interrupt', async () => {
      await this.turns.untilEnded()
      const { active } = this.thread
      if (!active) throw new TurnRefused('noActiveTurn')
      if (turnId !== null && active.id !== turnId) throw new TurnRefused('wrongTurn', active.id)
      active.abort('interrupted')
      return active
    })
    await turn.done
  }

  updateSettings(overrides: SettingsOverrides): Promise<void> {
    return this.submissions.submit('thread_settings', async () => {
      this.thread.applySettings(withOverrides(this.settings, overrides))
      if (this.log?.materialized) await this.persist()
    })
  }

  /** Changes the running turn from its next request on; false when it is not the active one. */
  updateTurnSettings(turnId: string, overrides: SettingsOverrides): Promise<boolean> {
    return this.submissions.submit('turn_settings', () => {
      const { active } = this.thread
      if (active?.id !== turnId) return false
      active.settings = withOverrides(active.settings, overrides)
      return true
    })
  }

  /** Shortens the history in a turn of its own; a running turn is replaced. */
  startCompaction(): Promise<Turn> {
    return this.submissions.submit('compact', async () => {
      await this.turns.replaceActive()
      return this.turns.begin('compact', null, PLAIN_TURN, (turn) => this.turns.compact(turn))
    })
  }

  /** Runs the person's own command: no sandbox, no approval; in a turn of its own when idle. */
  userShellCommand(command: string, timeoutMs: number | null): Promise<void> {
    return this.submissions.submit('user_shell', async () => {
      await this.turns.untilEnded()
      const turn = this.thread.active
      if (turn) {
        void runUserShell(this.thread, turn, command, timeoutMs).then(() =>
          turn.steer({ input: [], clientId: null, additionalContext: null }),
        )
        return
      }
      this.turns.begin('userShell', null, PLAIN_TURN, (own) => runUserShell(this.thread, own, command, timeoutMs))
    })
  }

  startReview(target: ReviewTarget): Promise<Turn> {
    return this.submissions.submit('review', async () => {
      await this.turns.replaceActive()
      return this.turns.begin('review', null, PLAIN_TURN, (turn) => reviewTurn(this.thread, turn, target))
    })
  }

  /** Starts a realtime conversation; how that goes comes as notifications. */
  startRealtime(start: RealtimeStart): Promise<void> {
    return this.submissions.submit('realtime_conversation_start', async () => {
      await this.thread.memory.ready()
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
      await this.thread.memory.ready()
      await this.thread.storage.materialize()
      this.thread.record(...items)
      await this.persist()
    })
  }

  /**
   * Replaces the history, after a rollback or revert was stored; the usage is what it was then, the settings
   * stay. Refused while a turn runs.
   */
  replaceHistory(stored: () => Promise<StoredHistory>): Promise<void> {
    return this.submissions.submit('thread_rollback', async () => {
      await this.untilIdle()
      await this.thread.memory.replace(stored)
    })
  }

  /** Takes a message for the model, kept until its next request; refused when too many wait. */
  receiveMail(mail: Mail): Promise<void> {
    return this.submissions.submit('inter_agent_communication', async () => {
      if (!this.mailbox.put(mail)) throw new TurnRefused('mailboxFull')
      await this.turns.untilEnded()
      this.turns.startForMail()
    })
  }

  /**
   * Starts a turn that another process had to leave, under its id and with no new input: the model is
   * asked again with what it knows. Refused unless idle; settings as for turnInput.
   */
  recoverTurn(turnId: string, overrides: SettingsOverrides, options: TurnOptions): Promise<Turn> {
    return this.submissions.submit('recover_turn', async () => {
      const settings = withOverrides(this.settings, overrides)
      await this.untilIdle()
      this.thread.applySettings(settings)
      return this.turns.beginRegular(null, options, turnId)
    })
  }

  /**
   * Leaves the running turn to another process: it is not told as interrupted, neither to the model nor to
   * clients, and the thread closes. When the history cannot be stored the thread goes on here.
   */
  async suspend(): Promise<SuspendOutcome> {
    const outcome = await this.submissions.submit('suspend_turn_and_shutdown', async (): Promise<SuspendOutcome> => {
      await this.turns.untilEnded()
      const turn = this.thread.active
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
    await this.turns.close()
    await this.terminals.endAll()
    await this.services.mcp.release(this.id)
    await this.submissions.close()
    await this.thread.storage.close()
  }

  /** Adds a record that no turn makes; stored with the next one that is. */
  recordEvent(event: Record<string, unknown>): void {
    this.thread.recordEvent(event)
  }

  /** Puts all records into the file; they are not lost to a killed process after this. */
  store(): void {
    this.thread.storage.write()
  }

  /** Writes and syncs; never rejects. */
  persist(): Promise<void> {
    return this.thread.storage.persist()
  }

  warn(message: string): void {
    this.thread.warn(message)
  }

  /** @throws TurnRefused while a turn runs */
  private async untilIdle(): Promise<void> {
    await this.turns.untilEnded()
    if (this.thread.active) throw new TurnRefused('notIdle', this.thread.active.id)
  }

  /** Words from the realtime conversation, as ordinary input; gives what the turn said at its end. */
  private async handOver(text: string): Promise<string> {
    await this.turnInput({ input: [{ type: 'text', text }], clientId: null, additionalContext: null }, {}, PLAIN_TURN)
    const turn = this.thread.active
    await turn?.done
    if (turn?.error) throw new Error(turn.error.message)
    const message = turn?.lastMessage
    return message?.type === 'agentMessage' ? message.text : 'It ended without a message.'
  }
}
