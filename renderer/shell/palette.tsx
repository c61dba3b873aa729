/** One field that finds everything: Ctrl/Cmd+K. */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { useActionRegistry } from '../components/actions.tsx'
import { Dialog } from '../components/dialog.tsx'
import { writeChord } from '../components/key-chords.ts'
import { VisibleText } from '../components/visible-text.tsx'
import { useHostLink } from '../feed/feed-context.tsx'
import { paletteEntries, type PaletteEntry } from './palette-entries.ts'
import { bestMatches } from './palette-ranking.ts'
import './palette.css'

const SHOWN = 50

export function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const { store } = useHostLink()
  const registry = useActionRegistry()
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const listId = useId()
  const list = useRef<HTMLUListElement>(null)

  // Taken once at opening: a list that changes while one aims at it is worse than one that is seconds old.
  const entries = useMemo(() => paletteEntries(store.getState(), registry.list()), [registry, store])
  const shown = useMemo(
    () => bestMatches(query, entries, (entry) => `${entry.text} ${entry.aside}`, SHOWN),
    [entries, query],
  )
  const current = Math.min(at, Math.max(0, shown.length - 1))

  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' })
  }, [current])

  const choose = (entry: PaletteEntry | undefined): void => {
    if (!entry) return
    onClose()
    // After the dialog gave focus back, so that the action may move it.
    setTimeout(entry.run, 0)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && shown.length > 0) {
      event.preventDefault()
      setAt((current + step + shown.length) % shown.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(shown[current])
    }
  }

  return (
    <Dialog title="Palette" hideTitle className="palette" onClose={onClose}>
      <input
        className="palette-field"
        role="combobox"
        aria-label="Find an action, session, process or host"
        aria-expanded="true"
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `${listId}-${current}` : undefined}
        placeholder="Find an action, session, process or host"
        autoFocus
        spellCheck={false}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <ul ref={list} id={listId} role="listbox" aria-label="Matches" className="palette-list">
        {shown.map((entry, index) => (
          <li
            key={entry.id}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === current}
            className="palette-row"
            onPointerMove={() => setAt(index)}
            onClick={() => choose(entry)}
          >
            <span className="palette-kind meta">{entry.kind}</span>
            <span className="truncate">
              <VisibleText text={entry.text} />
            </span>
            {entry.chord ? <kbd>{writeChord(entry.chord)}</kbd> : <span className="meta">{entry.aside}</span>}
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="palette-nothing dim">Nothing is called that.</p>}
    </Dialog>
  )
}
