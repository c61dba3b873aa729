/** Looks for words in the whole session, also in what is not held here, and goes from one place to the next. */
import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { useActions } from '../../components/actions.tsx'
import { IconButton } from '../../components/button.tsx'
import { countOf } from '../../components/quantities.ts'
import { useThreadCall } from '../../feed/feed-context.tsx'

export interface FoundPlace {
  itemId: string
  cursor: string
}
export interface FindInThreadProps {
  threadId: string
  onGo: (place: FoundPlace) => void
  onClose: () => void
}

interface Found {
  term: string
  places: readonly FoundPlace[]
  isComplete: boolean
  at: number
}

export function FindInThread({ threadId, onGo, onClose }: FindInThreadProps): ReactNode {
  const call = useThreadCall()
  const field = useRef<HTMLInputElement>(null)
  const [term, setTerm] = useState('')
  const [found, setFound] = useState<Found | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const isCurrent = found !== null && found.term === term.trim()
  useActions([
    { id: 'find-in-session', title: 'Find in this session', chord: 'Mod+F', run: () => field.current?.select() },
  ])

  const goTo = (all: Found, at: number): void => {
    const place = all.places.at(at)
    if (!place) return
    setFound({ ...all, at })
    onGo(place)
  }
  const find = async (): Promise<void> => {
    const words = term.trim()
    if (words === '') return
    const outcome = await call('gatehouse/thread/find', { threadId, term: words })
    setFailure(outcome.ok ? null : outcome.message)
    if (!outcome.ok) return
    const { data, isComplete } = outcome.value
    // The newest place first: that is what one remembers.
    const all = { term: words, places: data, isComplete, at: data.length - 1 }
    setFound(all)
    goTo(all, all.at)
  }
  const step = (by: number): void => {
    if (!isCurrent) return void find()
    const count = found.places.length
    if (count > 0) goTo(found, (found.at + by + count) % count)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.stopPropagation()
      onClose()
    } else if (event.key === 'Enter') {
      event.preventDefault()
      step(event.shiftKey ? 1 : -1)
    }
  }
  return (
    <div className="find-in-thread" role="search" aria-label="Find in this session" onKeyDown={onKeyDown}>
      <input
        ref={field}
        type="search"
        className="field"
        aria-label="Find in this session"
        placeholder="Find in this session"
        spellCheck={false}
        autoFocus
        value={term}
        onChange={({ target }) => setTerm(target.value)}
      />
      <span className="meta" role="status" aria-label="Found">
        {failure ?? (isCurrent ? foundWords(found) : '')}
      </span>
      <IconButton name="Earlier place" icon="left" title="Earlier place  Enter" onClick={() => step(-1)} />
      <IconButton name="Later place" icon="right" title="Later place  Shift+Enter" onClick={() => step(1)} />
      <IconButton name="Close the search" icon="cross" title="Close  Escape" onClick={onClose} />
    </div>
  )
}

function foundWords({ places, isComplete, at }: Found): string {
  if (places.length === 0) return 'Nothing found'
  return isComplete
    ? `${at + 1} of ${countOf(places.length, 'place')}`
    : `${at + 1} of the newest ${countOf(places.length, 'place')}`
}
