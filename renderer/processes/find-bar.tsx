/** The search line over a terminal or log: next, previous, count. */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { IconButton } from '../components/button.tsx'
import { formatCount } from '../components/quantities.ts'

export interface FindBarProps {
  label: string
  /** Null before anything was looked for. `index` is -1 while no result is current. */
  results: { index: number; count: number } | null
  /** Said instead of the count while it is not final. */
  progress?: string | null
  onFind: (text: string, direction: 'next' | 'previous') => void
  onClose: () => void
}

export function FindBar({ label, results, progress, onFind, onClose }: FindBarProps): ReactNode {
  const field = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  useEffect(() => field.current?.focus(), [])
  return (
    <div className="find-bar" role="search" aria-label={label}>
      <input
        ref={field}
        className="field"
        type="search"
        aria-label={label}
        placeholder={label}
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          onFind(event.target.value, 'next')
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onFind(text, event.shiftKey ? 'previous' : 'next')
          else if (event.key === 'Escape') onClose()
        }}
      />
      <span className="meta" role="status">
        {text !== '' && (progress ?? resultWords(results))}
      </span>
      <IconButton name="Previous result" icon="left" onClick={() => onFind(text, 'previous')} />
      <IconButton name="Next result" icon="right" onClick={() => onFind(text, 'next')} />
      <IconButton name="Close search" icon="cross" onClick={onClose} />
    </div>
  )
}

function resultWords(results: FindBarProps['results']): string {
  if (!results || results.count === 0) return 'no results'
  return results.index < 0
    ? `${formatCount(results.count)} results`
    : `${formatCount(results.index + 1)} of ${formatCount(results.count)}`
}
