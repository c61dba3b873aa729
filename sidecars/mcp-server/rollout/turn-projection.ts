/**
 * Rebuilds turns and the model's history from the records of a thread, in file order.
 *
 * Both are read from the same records but never from each other: what people see (items) and what the
 * model sees (response items) are separate accounts of a turn.
 */
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'
import type { Turn, TurnError } from '../../protocol/app-server/thread.ts'
import { itemFromCodex } from './item-from-codex.ts'
import type { RecordPayload, RolloutRecord } from './rollout-record.ts'

/** A response item of the model's history, exactly as sent or received. */
export type ResponseItem = Record<string, unknown>

interface HistoryMark {
  turnId: string
  /** Length of the history when the turn began. */
  length: number
  /** Started by a person's message; only these count for a rollback. */
  userTurn: boolean
  /** What was counted before it. */
  tokenUsage: RecordPayload | null
}

export class TurnProjection {
  readonly turns: Turn[] = []
  history: ResponseItem[] = []
  /** Payload of the newest `turn_context`, which resume goes on with. */
  turnContext: RecordPayload | null = null
  settings: RecordPayload | null = null
  tokenUsage: RecordPayload | null = null
  name: string | null = null
  /** One beyond the highest ordinal read. */
  endOrdinal = 0
  private readonly byId = new Map<string, Turn>()
  /** Places of items in their turn, by turn and item id. */
  private readonly places = new Map<string, Map<string, number>>()
  private readonly startOrdinals = new Map<string, number>()
  private marks: HistoryMark[] = []
  /** History before each compaction, so that a rollback over it brings the older context back. */
  private readonly beforeCompaction: { marks: number; history: ResponseItem[] }[] = []

  add(record: RolloutRecord): void {
    const { payload } = record
    this.endOrdinal = Math.max(this.endOrdinal, record.ordinal + 1)
    if (payload.type === 'task_started') this.startOrdinals.set(String(payload.turn_id), record.ordinal)
    switch (record.type) {
      case 'response_item':
        this.history.push(payload)
        return
      case 'turn_context':
        this.turnContext = payload
        return
      case 'compacted':
        this.beforeCompaction.push({ marks: this.marks.length, history: this.history })
        this.history = [...((payload.replacement_history as ResponseItem[] | undefined) ?? [])]
        return
      case 'event_msg':
        this.addEvent(payload, Date.parse(record.timestamp))
    }
  }

  /** Ordinal of the record that began a turn. */
  startOrdinal(turnId: string): number | undefined {
    return this.startOrdinals.get(turnId)
  }

  has(turnId: string): boolean {
    return this.byId.has(turnId)
  }

  /** Ends turns that a crash left open, as the reader of a dead process's file must see them. */
  closeOpenTurns(): void {
    for (const turn of this.turns) if (turn.status === 'inProgress') turn.status = 'interrupted'
  }

  private addEvent(event: RecordPayload, atMs: number): void {
    switch (event.type) {
      case 'task_started':
        this.startTurn(String(event.turn_id), event)
        return
      case 'task_complete':
        this.endTurn(event, event.error ? 'failed' : 'completed')
        return
      case 'turn_aborted':
        this.endTurn(event, 'interrupted')
        return
      case 'item_completed':
        this.addItem(event)
        return
      case 'thread_settings_applied':
        this.settings = event.thread_settings as RecordPayload
        return
      case 'token_count':
        if (event.info) this.tokenUsage = event.info as RecordPayload
        return
      case 'thread_name_updated':
        this.name = (event.thread_name as string | null | undefined) ?? null
        return
      case 'thread_rolled_back':
        this.rollBack(Number(event.num_turns))
        return
      case 'thread_reverted': {
        const at = this.marks.findIndex((mark) => mark.turnId === event.before_turn_id)
        if (at !== -1) this.cutAt(at)
        return
      }
      case 'user_message':
      case 'agent_message':
        this.addLegacyMessage(event, atMs)
    }
  }

  private startTurn(turnId: string, event: RecordPayload): void {
    if (this.byId.has(turnId)) return
    const turn: Turn = {
      id: turnId,
      rootTurnId: typeof event.root_turn_id === 'string' ? event.root_turn_id : turnId,
      items: [],
      itemsView: 'full',
      status: 'inProgress',
      error: null,
      startedAt: numberOrNull(event.started_at),
      completedAt: null,
      durationMs: null,
    }
    this.byId.set(turnId, turn)
    this.turns.push(turn)
    this.marks.push({
      turnId,
      length: this.history.length,
      userTurn: false,
      tokenUsage: this.tokenUsage,
    })
  }

  private endTurn(event: RecordPayload, status: Turn['status']): void {
    const turn = this.byId.get(String(event.turn_id))
    if (!turn) return
    turn.status = status
    turn.completedAt = numberOrNull(event.completed_at)
    turn.durationMs = numberOrNull(event.duration_ms)
    turn.error = (event.error as TurnError | null | undefined) ?? null
  }

  private addItem(event: RecordPayload): void {
    const stored = event.item as Record<string, unknown> | undefined
    if (!stored || typeof stored.type !== 'string') return
    const item = isCodexForm(stored.type) ? itemFromCodex(stored) : (stored as unknown as ThreadItem)
    if (!item) return
    item.startedAtMs ??= numberOrNull(event.started_at_ms)
    item.completedAtMs ??= numberOrNull(event.completed_at_ms)
    this.putItem(String(event.turn_id), item)
  }

  private putItem(turnId: string, item: ThreadItem): void {
    if (!this.byId.has(turnId)) this.startTurn(turnId, {})
    const turn = this.byId.get(turnId)!
    let places = this.places.get(turnId)
    if (!places) this.places.set(turnId, (places = new Map()))
    const at = places.get(item.id)
    if (at === undefined) places.set(item.id, turn.items.push(item) - 1)
    else turn.items[at] = item
    if (item.type === 'userMessage') {
      const mark = this.marks.findLast((m) => m.turnId === turnId)
      if (mark) mark.userTurn = true
    }
  }

  /** Files without item records tell messages as events; one per message, in order. */
  private addLegacyMessage(event: RecordPayload, atMs: number): void {
    const turn = this.turns.at(-1)
    if (!turn || turn.items.some((item) => typeof item.completedAtMs === 'number')) return
    const id = `${turn.id}-${turn.items.length}`
    const message = String(event.message ?? '')
    const item: ThreadItem =
      event.type === 'user_message'
        ? { type: 'userMessage', id, clientId: null, content: [{ type: 'text', text: message }] }
        : { type: 'agentMessage', id, text: message, phase: null, memoryCitation: null }
    item.startedAtMs = atMs
    this.putItem(turn.id, item)
  }

  /** Drops the last `count` turns that a person started, with everything after the first of them. */
  private rollBack(count: number): void {
    for (let left = count; left > 0; left--) {
      const at = this.marks.findLastIndex((mark) => mark.userTurn)
      if (at === -1) {
        this.turns.length = 0
        this.byId.clear()
        this.places.clear()
        this.marks = []
        this.history = []
        this.tokenUsage = null
        return
      }
      this.cutAt(at)
    }
  }

  private cutAt(at: number): void {
    const { turnId, length, tokenUsage } = this.marks[at]!
    this.tokenUsage = tokenUsage
    while ((this.beforeCompaction.at(-1)?.marks ?? -1) > at) this.history = this.beforeCompaction.pop()!.history
    this.marks.length = at
    this.history = this.history.slice(0, length)
    const first = this.turns.findIndex((turn) => turn.id === turnId)
    for (const turn of this.turns.splice(first)) {
      this.byId.delete(turn.id)
      this.places.delete(turn.id)
    }
  }
}

const isCodexForm = (type: string): boolean => type.charCodeAt(0) < 0x61

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)
