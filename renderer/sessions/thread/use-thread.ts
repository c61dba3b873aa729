/** Opens a thread for as long as it is in view: its newest page, older ones on demand, and what happens in it. */
import { useCallback, useEffect, useReducer, useRef, useState } from 'react'
import type { ThreadNews } from '../../../preload/api.ts'
import type { ItemEntry, QueuedWords, Thread, Turn } from '../../../sidecars/protocol/owner-threads.ts'
import { useFeed, useHostLink, useThreadCall } from '../../feed/feed-context.tsx'
import { EMPTY_TRANSCRIPT, withNews, withOlder, type Transcript } from './transcript.ts'

const PAGE_ITEMS = 60

type Change =
  /** `attempt` names a reading from the start: after a revert, or in another life of the sidecar. */
  | { kind: 'opened'; attempt: string }
  | { kind: 'older'; items: readonly ItemEntry[] }
  | { kind: 'active'; turnId: string }
  | { kind: 'queue'; queue: QueuedWords[]; paused: boolean }
  | { kind: 'news'; news: ThreadNews }

function reduce(transcript: Transcript, change: Change): Transcript {
  switch (change.kind) {
    case 'opened':
      return EMPTY_TRANSCRIPT
    case 'older':
      return withOlder(transcript, change.items)
    case 'active':
      return { ...transcript, activeTurnId: change.turnId }
    case 'queue':
      return { ...transcript, queue: change.queue, isQueuePaused: change.paused }
    case 'news':
      return withNews(transcript, change.news)
  }
}

export interface OpenThread {
  thread: Thread | null
  transcript: Transcript
  /** Why it cannot be opened. */
  problem: string | null
  /** Null while there is nothing older. */
  loadOlder: (() => void) | null
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
  const [problem, setProblem] = useState<string | null>(null)
  const [cursor, setCursor] = useState<string | null>(null)
  const [opening, setOpening] = useState(0)
  const attempt = `${generation} ${opening}`
  const isLoading = useRef(false)

  useEffect(() => {
    let isCurrent = true
    // What is heard while the pages are read is newer than they are.
    const endedTurns = new Set<string>()
    let isQueueHeard = false
    const stop = onThreadNews((news) => {
      if (news.params.threadId !== threadId || !isCurrent) return
      dispatch({ kind: 'news', news })
      if (news.method === 'turn/completed') endedTurns.add((news.params.turn as Turn).id)
      isQueueHeard ||= news.method === 'thread/queue/changed'
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
      const [items, turns, queue] = await Promise.all([
        call('thread/items/list', { threadId, limit: PAGE_ITEMS, sortDirection: 'desc' }),
        call('thread/turns/list', { threadId, limit: 1, sortDirection: 'desc', itemsView: 'notLoaded' }),
        call('thread/queue/list', { threadId }),
      ])
      if (!isCurrent) return
      // A thread without a first message has no pages yet.
      if (items.ok) dispatch({ kind: 'older', items: items.value.data })
      setCursor(items.ok ? items.value.nextCursor : null)
      const newest = turns.ok ? turns.value.data[0] : undefined
      if (newest?.status === 'inProgress' && !endedTurns.has(newest.id)) dispatch({ kind: 'active', turnId: newest.id })
      if (queue.ok && !isQueueHeard) dispatch({ kind: 'queue', queue: queue.value.data, paused: queue.value.paused })
    }
    void open()
    return () => {
      isCurrent = false
      stop()
    }
  }, [attempt, call, onThreadNews, threadId])

  useEffect(
    () => () => {
      // The host lets go of a thread that nobody looks at and that has nothing to do.
      void call('thread/unsubscribe', { threadId })
    },
    [call, threadId],
  )

  const loadOlder = useCallback(() => {
    if (cursor === null || isLoading.current) return
    isLoading.current = true
    void call('thread/items/list', { threadId, limit: PAGE_ITEMS, sortDirection: 'desc', cursor }).then((page) => {
      isLoading.current = false
      if (!page.ok) return setProblem(page.message)
      dispatch({ kind: 'older', items: page.value.data })
      setCursor(page.value.nextCursor)
    })
  }, [call, cursor, threadId])
  const reopen = useCallback(() => setOpening((count) => count + 1), [])

  return { thread, transcript, problem, loadOlder: cursor === null ? null : loadOlder, reopen }
}
