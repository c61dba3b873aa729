/**
 * Records of one thread -> rows of the index. Live writes and files read later go through here, so that
 * a rebuilt index equals one that grew.
 */
import type { GitInfo } from '../../protocol/app-server/thread.ts'
import { itemFromCodex } from './item-from-codex.ts'
import { pathFromUri } from './path-from-uri.ts'
import type { RecordPayload, RolloutRecord } from './rollout-record.ts'
import type { WrittenRecord } from './rollout-writer.ts'
import { sourceOfMeta, type HistoryBase, type StoredThread } from './stored-thread.ts'
import type { ThreadIndex, ThreadRow } from './thread-index.ts'

const PREVIEW_CHARACTERS = 500
/** The running turn, and earlier ones whose background commands end only now. */
const TURNS_TOLD = 8

/** What a `session_meta` record says of a thread. */
export function threadFromMeta(meta: RecordPayload, path: string, archived: boolean, nowMs: number): StoredThread {
  const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)
  const maybe = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  const git = meta.git as { commit_hash?: string; branch?: string; repository_url?: string } | undefined
  const startedAtMs = Date.parse(text(meta.timestamp, ''))
  const createdAtMs = Number.isFinite(startedAtMs) ? Math.min(startedAtMs, nowMs) : nowMs
  return {
    id: text(meta.id, ''),
    sessionId: text(meta.session_id, text(meta.id, '')),
    path,
    archived,
    createdAtMs,
    updatedAtMs: createdAtMs,
    preview: '',
    name: null,
    cwd: pathFromUri(text(meta.cwd, '/')),
    modelProvider: text(meta.model_provider, ''),
    model: null,
    reasoningEffort: null,
    source: sourceOfMeta(meta.source),
    originator: maybe(meta.originator),
    threadSource: maybe(meta.thread_source),
    cliVersion: text(meta.cli_version, ''),
    historyMode: meta.history_mode === 'legacy' || meta.history_mode === undefined ? 'legacy' : 'paginated',
    forkedFromId: maybe(meta.forked_from_id),
    parentThreadId: maybe(meta.parent_thread_id),
    projectId: null,
    gitInfo: git ? gitInfo(git) : null,
    base: historyBase(meta.history_base as RecordPayload | undefined),
  }
}

function gitInfo(git: { commit_hash?: string; branch?: string; repository_url?: string }): GitInfo {
  return { sha: git.commit_hash ?? null, branch: git.branch ?? null, originUrl: git.repository_url ?? null }
}

function historyBase(base: RecordPayload | undefined): HistoryBase | null {
  if (!base || typeof base.thread_id !== 'string') return null
  return {
    threadId: base.thread_id,
    endOrdinal: Number(base.end_ordinal_exclusive),
    endOffset: Number(base.end_byte_offset),
    path: typeof base.path === 'string' ? base.path : null,
  }
}

/** Indexes one thread's records in order. Holds the thread's row and writes it with every batch. */
export class RolloutIndexer {
  /** Ids of the items of the turns that are being told, so that one told twice is noticed without a look-up. */
  private readonly itemIds = new Map<string, Set<string>>()
  private stateChanged = false

  constructor(
    private readonly index: ThreadIndex,
    readonly row: ThreadRow,
    private readonly nowMs: () => number,
  ) {}

  /** Call inside a transaction. */
  add(written: readonly WrittenRecord[], endOffset: number): void {
    for (const { record, offset, byteLength } of written) this.addRecord(record, offset, byteLength)
    this.row.indexedBytes = endOffset
    this.index.putThread(this.row)
    if (this.stateChanged) this.index.putState(this.row.thread.id, this.row)
    this.stateChanged = false
  }

  private addRecord(record: RolloutRecord, offset: number, length: number): void {
    const { row } = this
    row.nextOrdinal = Math.max(row.nextOrdinal, record.ordinal) + 1
    const atMs = Date.parse(record.timestamp)
    // A clock that was wrong must not put a thread in front of all others for years.
    if (Number.isFinite(atMs)) row.thread.updatedAtMs = Math.max(row.thread.updatedAtMs, Math.min(atMs, this.nowMs()))
    if (record.type === 'turn_context') {
      row.turnContext = record.payload
      this.stateChanged = true
      row.thread.cwd = typeof record.payload.cwd === 'string' ? pathFromUri(record.payload.cwd) : row.thread.cwd
      row.thread.model = typeof record.payload.model === 'string' ? record.payload.model : row.thread.model
      row.thread.reasoningEffort = typeof record.payload.effort === 'string' ? record.payload.effort : null
    } else if (record.type === 'event_msg') this.addEvent(record, offset, length)
  }

  private addEvent(record: RolloutRecord, offset: number, length: number): void {
    const event = record.payload
    const { thread } = this.row
    const turnId = String(event.turn_id)
    switch (event.type) {
      case 'task_started':
        // One that another process goes on with is there already.
        if (this.index.history.turnOrdinal(thread.id, turnId) !== null) return
        this.index.history.putTurn(thread.id, {
          ordinal: this.row.nextOrdinal - 1,
          turnId,
          rootTurnId: typeof event.root_turn_id === 'string' ? event.root_turn_id : turnId,
          status: 'inProgress',
          startedAt: numberOrNull(event.started_at),
          completedAt: null,
          durationMs: null,
          error: null,
        })
        return
      case 'task_complete':
      case 'turn_aborted':
        this.index.history.endTurn(thread.id, turnId, {
          status: event.type === 'turn_aborted' ? 'interrupted' : event.error ? 'failed' : 'completed',
          completedAt: numberOrNull(event.completed_at),
          durationMs: numberOrNull(event.duration_ms),
          error: event.error ?? null,
        })
        return
      case 'item_completed':
        this.addItem(event, turnId, offset, length)
        return
      case 'user_message':
        if (thread.preview === '') thread.preview = String(event.message ?? '').slice(0, PREVIEW_CHARACTERS)
        return
      case 'thread_name_updated':
        thread.name = (event.thread_name as string | null | undefined) ?? null
        return
      case 'thread_metadata_updated':
        if (event.git !== undefined) thread.gitInfo = event.git as GitInfo | null
        if (event.project_id !== undefined) thread.projectId = event.project_id as string | null
        return
      case 'thread_settings_applied': {
        // Changed between turns; other programs' records have another shape and say it with the next turn.
        const settings = event.thread_settings as RecordPayload | undefined
        if (settings?.sandbox_policy === undefined) return
        this.row.turnContext = settings
        this.stateChanged = true
        return
      }
      case 'thread_extras':
        this.row.extras = event
        this.stateChanged = true
        return
      case 'thread_rolled_back':
        this.itemIds.clear()
        this.index.history.cut(thread.id, this.rollbackOrdinal(Number(event.num_turns)))
        return
      case 'thread_reverted':
        this.itemIds.clear()
        this.index.history.cut(
          thread.id,
          this.index.history.turnOrdinal(thread.id, String(event.before_turn_id)) ?? Number.MAX_SAFE_INTEGER,
        )
    }
  }

  private addItem(event: RecordPayload, turnId: string, offset: number, length: number): void {
    const item = event.item as { id?: unknown; type?: unknown; content?: unknown } | undefined
    if (typeof item?.type !== 'string') return
    const known =
      item.type.charCodeAt(0) < 0x61
        ? itemFromCodex(item as Record<string, unknown>)
        : (item as { id: string; type: string })
    if (!known) return
    if (known.type === 'userMessage' && this.row.thread.preview === '')
      this.row.thread.preview = firstText(item.content)
    const ids = this.itemIdsOf(turnId)
    if (ids.has(known.id)) this.index.history.dropItem(this.row.thread.id, turnId, known.id)
    ids.add(known.id)
    this.index.history.putItem(this.row.thread.id, {
      ordinal: this.row.nextOrdinal - 1,
      turnId,
      itemId: known.id,
      kind: known.type,
      offset,
      length,
    })
  }

  private itemIdsOf(turnId: string): Set<string> {
    let ids = this.itemIds.get(turnId)
    if (!ids) {
      ids = this.index.history.itemIds(this.row.thread.id, turnId)
      if (this.itemIds.size >= TURNS_TOLD) this.itemIds.delete(this.itemIds.keys().next().value!)
      this.itemIds.set(turnId, ids)
    }
    return ids
  }

  private rollbackOrdinal(count: number): number {
    const ordinals = this.index.history.newestUserTurns(this.row.thread.id, count)
    return ordinals.length < count ? 0 : (ordinals.at(-1) ?? Number.MAX_SAFE_INTEGER)
  }
}

function firstText(content: unknown): string {
  if (!Array.isArray(content)) return ''
  const part = (content as { type?: string; text?: string }[]).find(
    (p) => p.type === 'text' && typeof p.text === 'string',
  )
  return part?.text?.slice(0, PREVIEW_CHARACTERS) ?? ''
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)
