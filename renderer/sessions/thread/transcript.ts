/** What is known of a thread in view: its items in order, the turn that runs, what is queued. */
import type { ThreadNews } from '../../../preload/api.ts'
import type { ItemEntry, QueuedWords, ThreadItem, Turn } from '../../../sidecars/protocol/owner-threads.ts'

export interface TranscriptEntry extends ItemEntry {
  /** More of it is coming. */
  isOpen: boolean
  /** When it began here; null for what was stored without a time. */
  atMs: number | null
}

export interface Transcript {
  entries: readonly TranscriptEntry[]
  activeTurnId: string | null
  /** Why the last turn failed; null once another one runs. */
  failure: string | null
  queue: readonly QueuedWords[]
  isQueuePaused: boolean
  totalTokens: number | null
}

export const EMPTY_TRANSCRIPT: Transcript = {
  entries: [],
  activeTurnId: null,
  failure: null,
  queue: [],
  isQueuePaused: false,
  totalTokens: null,
}

/** Older stored items, newest first as the host gives them, before those that are known already. */
export function withOlder(transcript: Transcript, stored: readonly ItemEntry[]): Transcript {
  const known = new Set(transcript.entries.map(({ item }) => item.id))
  const older = stored.filter(({ item }) => !known.has(item.id)).map(storedEntry)
  return { ...transcript, entries: [...older.reverse(), ...transcript.entries] }
}

const storedEntry = ({ turnId, item }: ItemEntry): TranscriptEntry => ({
  turnId,
  item,
  isOpen: false,
  atMs: item.startedAtMs ?? null,
})

/** The transcript after one notification. The same object when it says nothing about it. */
export function withNews(transcript: Transcript, { method, params }: ThreadNews): Transcript {
  switch (method) {
    case 'turn/started':
      return { ...transcript, activeTurnId: (params.turn as Turn).id, failure: null }
    case 'turn/completed': {
      const { id, status, error } = params.turn as Turn
      return {
        ...transcript,
        activeTurnId: transcript.activeTurnId === id ? null : transcript.activeTurnId,
        failure: status === 'failed' ? (error?.message ?? 'The turn failed.') : null,
        // An interrupted turn ends its items without a word on each.
        entries: transcript.entries.map((entry) =>
          entry.isOpen && entry.turnId === id ? { ...entry, isOpen: false } : entry,
        ),
      }
    }
    case 'item/started':
    case 'item/completed':
      return withItem(transcript, {
        turnId: String(params.turnId),
        item: params.item as ThreadItem,
        isOpen: method === 'item/started',
        atMs: typeof params.startedAtMs === 'number' ? params.startedAtMs : null,
      })
    case 'item/agentMessage/delta':
      return withDelta(transcript, params, (item, delta) =>
        item.type === 'agentMessage' ? { ...item, text: item.text + delta } : item,
      )
    case 'item/reasoning/summaryTextDelta':
      return withDelta(transcript, params, (item, delta) =>
        item.type === 'reasoning'
          ? { ...item, summary: addedTo(item.summary, Number(params.summaryIndex), delta) }
          : item,
      )
    case 'item/commandExecution/outputDelta':
      return withDelta(transcript, params, (item, delta) =>
        item.type === 'commandExecution'
          ? { ...item, aggregatedOutput: tail((item.aggregatedOutput ?? '') + delta) }
          : item,
      )
    case 'thread/queue/changed':
      return {
        ...transcript,
        queue: params.queuedSubmissions as QueuedWords[],
        isQueuePaused: params.paused === true,
      }
    case 'thread/tokenUsage/updated': {
      const { total } = params.tokenUsage as { total: { totalTokens: number } }
      return { ...transcript, totalTokens: total.totalTokens }
    }
    default:
      return transcript
  }
}

/** While a command runs its newest output is shown; all of it is with its process. */
const OUTPUT_SHOWN = 64 * 1024
const tail = (text: string): string => text.slice(-OUTPUT_SHOWN)

function withItem(transcript: Transcript, entry: TranscriptEntry): Transcript {
  const at = indexOf(transcript, entry.item.id)
  if (at === -1) return { ...transcript, entries: [...transcript.entries, entry] }
  const known = transcript.entries[at]!
  return { ...transcript, entries: transcript.entries.with(at, { ...entry, atMs: known.atMs ?? entry.atMs }) }
}

/** A delta for what is complete already, or never began here, says nothing new. */
function withDelta(
  transcript: Transcript,
  params: ThreadNews['params'],
  change: (item: ThreadItem, delta: string) => ThreadItem,
): Transcript {
  const at = indexOf(transcript, String(params.itemId))
  const entry = transcript.entries[at]
  if (!entry?.isOpen) return transcript
  return {
    ...transcript,
    entries: transcript.entries.with(at, { ...entry, item: change(entry.item, String(params.delta)) }),
  }
}

/** What changes is nearly always at the end. */
function indexOf({ entries }: Transcript, itemId: string): number {
  for (let at = entries.length - 1; at >= 0; at--) if (entries[at]!.item.id === itemId) return at
  return -1
}

function addedTo(parts: readonly string[], index: number, delta: string): string[] {
  const next = [...parts]
  while (next.length <= index) next.push('')
  next[index] += delta
  return next
}
