/** Opens a thread for as long as it is in view: its newest page, others on demand, and what happens in it. */
import { useCallback, useEffect, useReducer, useRef, useState } from 'react'
import type { ThreadNews } from '../../../preload/api.ts'
import type { ItemEntry, QueuedWords, SettingsBlock, Thread, Turn } from '../../../sidecars/protocol/owner-threads.ts'
import { useFeed, useHostLink, useThreadCall } from '../../feed/feed-context.tsx'
import { useSessionServer } from '../server/use-session-server.ts'
import {
  EMPTY_TRANSCRIPT,
  endedNews,
  newerCursor,
  olderCursor,
  withNewer,
  withNewest,
  withNews,
  withOlder,
  withOpen,
  withPlace,
  type KnownSettings,
  type PlanStep,
  type ReadPage,
  type Transcript,
} from './transcript.ts'

const PAGE_ITEMS = 60
/** So many items that came as news are held; then the newest page is read again in their place. */
const LIVE_HELD = 240

type Change =
  /** `attempt` names a reading from the start: after a revert, or in another life of the sidecar. */
  | { kind: 'opened'; attempt: string }
  | { kind: 'newest'; page: ReadPage; before: ReadonlySet<string> }
  /** `cursor` is where the page was read from: one that no longer fits what is held is dropped. */
  | { kind: 'older' | 'newer' | 'place'; page: ReadPage; cursor: string | null }
  | { kind: 'open'; open: readonly (ItemEntry & { startedAtMs: number })[] }
  | { kind: 'active'; turnId: string }
  | { kind: 'queue'; queue: QueuedWords[]; paused: boolean }
  | { kind: 'known'; known: Partial<Pick<Transcript, 'settings' | 'usage' | 'plan'>> }
  | { kind: 'news'; news: ThreadNews }

function reduce(transcript: Transcript, change: Change): Transcript {
  switch (change.kind) {
    case 'opened':
      return { ...EMPTY_TRANSCRIPT, settings: transcript.settings, usage: transcript.usage }
    case 'newest':
      return withNewest(transcript, change.page, change.before)
    case 'older':
      return olderCursor(transcript) === change.cursor ? withOlder(transcript, change.page) : transcript
    case 'newer':
      return newerCursor(transcript) === change.cursor ? withNewer(transcript, change.page) : transcript
    case 'place':
      return withPlace(transcript, change.page)
    case 'open':
      return withOpen(transcript, change.open)
    case 'active':
      return { ...transcript, activeTurnId: change.turnId }
    case 'queue':
      return { ...transcript, queue: change.queue, isQueuePaused: change.paused }
    case 'known':
      return { ...transcript, ...change.known }
    case 'news':
      return withNews(transcript, change.news)
  }
}

export interface OpenThread {
  thread: Thread | null
  transcript: Transcript
  /** The first page has been read. */
  isRead: boolean
  /** Why it cannot be opened, or a page not read. */
  problem: string | null
  /** Null while there is nothing older. */
  loadOlder: (() => void) | null
  /** Null while the end is held. */
  loadNewer: (() => void) | null
  /** Goes to the first item, to the newest one, or to where a cursor stands. */
  toStart: () => Promise<void>
  toEnd: () => void
  toPlace: (cursor: string) => Promise<void>
  /** Reads everything anew, e.g. after a revert. */
  reopen: () => void
}

export function useThread(threadId: string): OpenThread {
  const call = useThreadCall()
  const { onThreadNews } = useHostLink()
  // Another life of the sidecar knows nothing of what this window has opened.
  const generation = useFeed((state) => state.tables.sidecars.rows.get('mcp-server')?.generation ?? 0)
  const [transcript, dispatch] = useReducer(reduce, EMPTY_TRANSCRIPT)
  const [thread, setThread] = useState<Thread | null>(null)
  const [isRead, setRead] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [opening, setOpening] = useState(0)
  const server = useSessionServer()
  const life = server?.life ?? 0
  const attempt = `${generation} ${life} ${opening}`
  const latest = useRef(transcript)
  useEffect(() => {
    latest.current = transcript
  })

  const read = useCallback(
    (sortDirection: 'asc' | 'desc', cursor: string | null) =>
      call('thread/items/list', { threadId, limit: PAGE_ITEMS, sortDirection, ...(cursor && { cursor }) }),
    [call, threadId],
  )
  const readNewest = useCallback(async () => {
    const before = endedNews(latest.current)
    const [page, open] = await Promise.all([read('desc', null), call('gatehouse/thread/open', { threadId })])
    return { page, open, before }
  }, [call, read, threadId])

  useEffect(() => {
    let isCurrent = true
    // What is heard while the pages are read is newer than they are.
    const endedTurns = new Set<string>()
    const heard = new Set<string>()
    const stop = onThreadNews((news) => {
      if (news.params.threadId !== threadId || !isCurrent) return
      dispatch({ kind: 'news', news })
      heard.add(news.method)
      if (news.method === 'turn/completed') endedTurns.add((news.params.turn as Turn).id)
      if (news.method === 'thread/name/updated')
        setThread((known) => known && { ...known, name: String(news.params.threadName) })
    })
    const open = async (): Promise<void> => {
      dispatch({ kind: 'opened', attempt })
      const resumed = await call('thread/resume', { threadId, excludeTurns: true })
      if (!isCurrent) return
      setProblem(resumed.ok ? null : resumed.message)
      if (!resumed.ok) return
      setThread(resumed.value.thread)
      if (!heard.has('thread/settings/updated'))
        dispatch({ kind: 'known', known: { settings: settingsOf(resumed.value) } })
      const [newest, turns, queue] = await Promise.all([
        readNewest(),
        call('thread/turns/list', { threadId, limit: 1, sortDirection: 'desc', itemsView: 'notLoaded' }),
        call('thread/queue/list', { threadId }),
      ])
      if (!isCurrent) return
      // A thread without a first message has no pages yet.
      if (newest.page.ok) dispatch({ kind: 'newest', page: newest.page.value, before: new Set() })
      setRead(true)
      if (newest.open.ok) {
        const { data, usage, plan } = newest.open.value
        dispatch({ kind: 'open', open: data })
        dispatch({
          kind: 'known',
          known: {
            ...(usage && !heard.has('thread/tokenUsage/updated') && { usage }),
            ...(plan && !heard.has('turn/plan/updated') && { plan: plan as PlanStep[] }),
          },
        })
      }
      const last = turns.ok ? turns.value.data[0] : undefined
      if (last?.status === 'inProgress' && !endedTurns.has(last.id)) dispatch({ kind: 'active', turnId: last.id })
      if (queue.ok && !heard.has('thread/queue/changed'))
        dispatch({ kind: 'queue', queue: queue.value.data, paused: queue.value.paused })
    }
    void open()
    return () => {
      isCurrent = false
      stop()
    }
  }, [attempt, call, onThreadNews, readNewest, threadId])

  useEffect(
    () => () => {
      // The host lets go of a thread that nobody looks at and that has nothing to do.
      void call('thread/unsubscribe', { threadId })
    },
    [call, threadId],
  )

  const busy = useRef<Set<string>>(new Set())
  /** One reading of a kind at a time; a page that cannot be read is told, and can be asked for again. */
  const once = useCallback(async (kind: string, work: () => Promise<{ ok: true } | { ok: false; message: string }>) => {
    if (busy.current.has(kind)) return
    busy.current.add(kind)
    const outcome = await work()
    busy.current.delete(kind)
    setProblem(outcome.ok ? null : outcome.message)
  }, [])
  const load = useCallback(
    (kind: 'older' | 'newer' | 'place', direction: 'asc' | 'desc', cursor: string | null) =>
      once(kind, async () => {
        const page = await read(direction, cursor)
        // Nothing stands before what was read from the start.
        const edge = direction === 'asc' && cursor === null ? { backwardsCursor: null } : {}
        if (page.ok) dispatch({ kind, cursor, page: { ...page.value, ...edge } })
        return page
      }),
    [once, read],
  )
  const toEnd = useCallback(
    () =>
      void once('end', async () => {
        const { page, open, before } = await readNewest()
        if (page.ok) dispatch({ kind: 'newest', page: page.value, before })
        if (open.ok) dispatch({ kind: 'open', open: open.value.data })
        return page
      }),
    [once, readNewest],
  )

  const isOverfull = transcript.isAtEnd && transcript.live.length > LIVE_HELD && transcript.activeTurnId === null
  useEffect(() => {
    if (isOverfull) toEnd()
  }, [isOverfull, toEnd])

  const older = olderCursor(transcript)
  const newer = newerCursor(transcript)
  const loadOlder = useCallback(() => void load('older', 'desc', older), [load, older])
  const loadNewer = useCallback(() => void load('newer', 'asc', newer), [load, newer])
  return {
    thread,
    transcript,
    isRead,
    problem,
    loadOlder: older === null ? null : loadOlder,
    loadNewer: newer === null ? null : loadNewer,
    toStart: useCallback(() => load('place', 'asc', null), [load]),
    toEnd,
    toPlace: useCallback((cursor: string) => load('place', 'asc', cursor), [load]),
    reopen: useCallback(() => setOpening((count) => count + 1), []),
  }
}

function settingsOf(block: SettingsBlock & { collaborationMode?: KnownSettings['collaborationMode'] }): KnownSettings {
  const { approvalPolicy, sandbox, model, modelProvider, reasoningEffort, collaborationMode } = block
  return {
    approvalPolicy,
    sandboxPolicy: sandbox,
    model,
    modelProvider,
    effort: reasoningEffort,
    collaborationMode: collaborationMode ?? null,
  }
}
