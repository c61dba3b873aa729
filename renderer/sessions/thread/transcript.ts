/**
 * What is known of a thread in view: a window of its items, the turn that runs, what is queued. A thread may
 * have any number of items; a few pages of them are held, and the cursors that read on from both ends.
 */
import type { ThreadNews } from '../../../preload/api.ts'
import type {
  ItemEntry,
  QueuedWords,
  ThreadItem,
  ThreadSettings,
  ThreadTokenUsage,
  Turn,
} from '../../../sidecars/protocol/owner-threads.ts'

export interface TranscriptEntry extends ItemEntry {
  /** More of it is coming. */
  isOpen: boolean
  /** When it began here; null for what was stored without a time. */
  atMs: number | null
}

export interface PlanStep {
  step: string
  status: 'pending' | 'inProgress' | 'completed'
}

export type KnownSettings = Pick<
  ThreadSettings,
  'approvalPolicy' | 'sandboxPolicy' | 'model' | 'modelProvider' | 'effort' | 'collaborationMode'
>

/** Stored items as they were read, oldest first, and where reading goes on from them. */
interface Page {
  entries: readonly TranscriptEntry[]
  /** Null: nothing is older. */
  older: string | null
  /** Null: nothing was newer when it was read. */
  newer: string | null
}

export interface Transcript {
  pages: readonly Page[]
  /** What came as news behind the newest page; empty while the end is not held. */
  live: readonly TranscriptEntry[]
  /** Nothing newer exists than what is held. */
  isAtEnd: boolean
  /** Items that came while the end was not held. */
  unseen: number
  activeTurnId: string | null
  /** Why the last turn failed; null once another one runs. */
  failure: string | null
  queue: readonly QueuedWords[]
  isQueuePaused: boolean
  usage: ThreadTokenUsage | null
  /** What the model says it is going to do; null when it has said nothing. */
  plan: readonly PlanStep[] | null
  settings: KnownSettings | null
  /** The newest thing that the session warned of. */
  warning: string | null
}

export const EMPTY_TRANSCRIPT: Transcript = {
  pages: [],
  live: [],
  isAtEnd: true,
  unseen: 0,
  activeTurnId: null,
  failure: null,
  queue: [],
  isQueuePaused: false,
  usage: null,
  plan: null,
  settings: null,
  warning: null,
}

/** While the end is not held, so much of what comes is kept. */
const LIVE_KEPT_AWAY = 200
/** More pages than this are not held: reading on at one end lets go of the other. */
export const PAGES_HELD = 6

/** A page as the host gives it, in either order. */
export interface ReadPage {
  data: readonly ItemEntry[]
  /** Reads on in the direction that was asked for. */
  nextCursor: string | null
  /** Reads on in the other one. */
  backwardsCursor?: string | null
}

/** What can be read, oldest first. */
export function entriesOf({ pages, live, isAtEnd }: Transcript): TranscriptEntry[] {
  return [...pages.flatMap(({ entries }) => entries), ...(isAtEnd ? live : [])]
}
/** Reads what is older; null while there is nothing. */
export const olderCursor = ({ pages }: Transcript): string | null => pages[0]?.older ?? null
/** Reads what is newer; null while the end is held. */
export const newerCursor = ({ pages, isAtEnd }: Transcript): string | null =>
  isAtEnd ? null : (pages.at(-1)?.newer ?? null)

/**
 * The newest page, in descending order, in place of what is held. What is under way and what was heard while
 * it was read stay behind it; `before` is what was heard earlier.
 */
export function withNewest(transcript: Transcript, page: ReadPage, before: ReadonlySet<string>): Transcript {
  const read = descendingPage(EMPTY_TRANSCRIPT, page)
  const stored = new Set(read.entries.map(({ item }) => item.id))
  const live = transcript.live.filter(({ item, isOpen }) => !stored.has(item.id) && (isOpen || !before.has(item.id)))
  return { ...transcript, pages: [read], live, isAtEnd: true, unseen: 0 }
}
/** What came as news and has ended; see `withNewest`. */
export function endedNews({ live }: Transcript): ReadonlySet<string> {
  return new Set(live.filter(({ isOpen }) => !isOpen).map(({ item }) => item.id))
}

/** The page before the oldest one that is held, in descending order. */
export function withOlder(transcript: Transcript, page: ReadPage): Transcript {
  const pages = [descendingPage(transcript, page), ...transcript.pages]
  if (pages.length <= PAGES_HELD) return { ...transcript, pages }
  // The reader is far from the end: what is there is read again on the way back.
  return { ...transcript, pages: pages.slice(0, PAGES_HELD), live: [], isAtEnd: false }
}

/** The page behind the newest one that is held, in ascending order. */
export function withNewer(transcript: Transcript, page: ReadPage): Transcript {
  const known = new Set(transcript.pages.flatMap(({ entries }) => entries.map(({ item }) => item.id)))
  const entries = page.data.filter(({ item }) => !known.has(item.id)).map(storedEntry)
  const isAtEnd = page.nextCursor === null
  const read: Page = { entries, older: page.backwardsCursor ?? null, newer: page.nextCursor }
  const stored = new Set(entries.map(({ item }) => item.id))
  return {
    ...transcript,
    pages: [...transcript.pages, read].slice(-PAGES_HELD),
    // Kept since the reading began, see `withItem`.
    live: isAtEnd ? transcript.live.filter(({ item }) => !stored.has(item.id) && !known.has(item.id)) : [],
    isAtEnd,
    unseen: isAtEnd ? 0 : transcript.unseen,
  }
}

/** Begins anew somewhere else: an ascending page from the start, or from an item that was found. */
export function withPlace(transcript: Transcript, page: ReadPage): Transcript {
  const read = { entries: page.data.map(storedEntry), older: page.backwardsCursor ?? null, newer: page.nextCursor }
  const isAtEnd = page.nextCursor === null
  return { ...transcript, pages: [read], live: isAtEnd ? transcript.live : [], isAtEnd, unseen: 0 }
}

/** What is under way, as it stands; news of it came before or come after. */
export function withOpen(transcript: Transcript, open: readonly (ItemEntry & { startedAtMs: number })[]): Transcript {
  const held = [...transcript.pages.flatMap(({ entries }) => entries), ...transcript.live]
  const known = new Set(held.map(({ item }) => item.id))
  const missing = open
    .filter(({ item }) => !known.has(item.id))
    .map(({ turnId, item, startedAtMs }) => ({ turnId, item, isOpen: true, atMs: startedAtMs }))
  return missing.length === 0 ? transcript : { ...transcript, live: [...transcript.live, ...missing] }
}

function descendingPage(transcript: Transcript, page: ReadPage): Page {
  const known = new Set(transcript.pages.flatMap(({ entries }) => entries.map(({ item }) => item.id)))
  const entries = page.data.filter(({ item }) => !known.has(item.id)).map(storedEntry)
  return { entries: entries.reverse(), older: page.nextCursor, newer: page.backwardsCursor ?? null }
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
      return { ...transcript, activeTurnId: (params.turn as Turn).id, failure: null, plan: null, warning: null }
    case 'turn/completed': {
      const { id, status, error } = params.turn as Turn
      return {
        ...transcript,
        activeTurnId: transcript.activeTurnId === id ? null : transcript.activeTurnId,
        failure: status === 'failed' ? (error?.message ?? 'The turn failed.') : null,
        // An interrupted turn ends its items without a word on each; a command may outlive its turn.
        live: transcript.live.map((entry) =>
          entry.isOpen && entry.turnId === id && (status !== 'completed' || entry.item.type !== 'commandExecution')
            ? { ...entry, isOpen: false }
            : entry,
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
    case 'thread/tokenUsage/updated':
      return { ...transcript, usage: params.tokenUsage as ThreadTokenUsage }
    case 'thread/settings/updated':
      return { ...transcript, settings: params.threadSettings as ThreadSettings }
    case 'turn/plan/updated':
      return { ...transcript, plan: params.plan as PlanStep[] }
    case 'warning':
      return { ...transcript, warning: String(params.message) }
    default:
      return transcript
  }
}

/** While a command runs its newest output is shown; all of it is with its process. */
const OUTPUT_SHOWN = 64 * 1024
const tail = (text: string): string => text.slice(-OUTPUT_SHOWN)

/** While the end is not held, what comes is kept only in case a reading that is under way gets there. */
function withItem(transcript: Transcript, entry: TranscriptEntry): Transcript {
  const unseen = transcript.isAtEnd || entry.isOpen ? transcript.unseen : transcript.unseen + 1
  const { live } = transcript
  const at = indexIn(live, entry.item.id)
  if (at !== -1) return { ...transcript, unseen, live: live.with(at, { ...entry, atMs: live[at]!.atMs ?? entry.atMs }) }
  const isStored = transcript.pages.some(({ entries }) => indexIn(entries, entry.item.id) !== -1)
  if (isStored) return transcript
  const kept = transcript.isAtEnd ? live : live.slice(-LIVE_KEPT_AWAY)
  return { ...transcript, unseen, live: [...kept, entry] }
}

/** A delta for what is complete already, or never began here, says nothing new. */
function withDelta(
  transcript: Transcript,
  params: ThreadNews['params'],
  change: (item: ThreadItem, delta: string) => ThreadItem,
): Transcript {
  const at = indexIn(transcript.live, String(params.itemId))
  const entry = transcript.live[at]
  if (!entry?.isOpen) return transcript
  return {
    ...transcript,
    live: transcript.live.with(at, { ...entry, item: change(entry.item, String(params.delta)) }),
  }
}

/** What changes is nearly always at the end. */
function indexIn(entries: readonly TranscriptEntry[], itemId: string): number {
  for (let at = entries.length - 1; at >= 0; at--) if (entries[at]!.item.id === itemId) return at
  return -1
}

function addedTo(parts: readonly string[], index: number, delta: string): string[] {
  const next = [...parts]
  while (next.length <= index) next.push('')
  next[index] += delta
  return next
}
