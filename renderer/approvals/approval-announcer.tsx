/** Says once, politely, that something began to wait. Focus never moves for it. */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { useFeed } from '../feed/feed-context.tsx'
import { selectPending } from './selectors.ts'
import { requestSentence, shorten } from './subject-words.ts'

export function ApprovalAnnouncer(): ReactNode {
  const pending = useFeed(selectPending)
  const phase = useFeed((state) => state.phase)
  const known = useRef<Set<string> | null>(null)
  const [words, setWords] = useState('')

  useEffect(() => {
    if (phase !== 'live') return
    const before = known.current
    known.current = new Set(pending.map((request) => request.id))
    // What was waiting when the window opened is on the badge; only arrivals are news.
    const arrived = before ? pending.filter((request) => !before.has(request.id)) : []
    const [first] = arrived
    if (!first) return
    const what = arrived.length === 1 ? shorten(requestSentence(first), 160) : `${arrived.length} new requests`
    setWords(`${what}, ${pending.length} waiting`)
  }, [pending, phase])

  return (
    <div className="visually-hidden" role="status" aria-live="polite" aria-label="New requests">
      {words}
    </div>
  )
}
