/** A field that narrows the list in view; Ctrl/Cmd+F goes to it. */
import { useRef, type ReactNode } from 'react'
import { useActions } from './actions.tsx'
import { Icon } from './icon.tsx'
import './search-field.css'

export interface SearchFieldProps {
  label: string
  value: string
  onChange: (value: string) => void
}

export function SearchField({ label, value, onChange }: SearchFieldProps): ReactNode {
  const field = useRef<HTMLInputElement>(null)
  useActions([{ id: 'search', title: label, chord: 'Mod+F', run: () => field.current?.select() }])
  return (
    <span className="search-field">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        className="field"
        aria-label={label}
        placeholder={label}
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || value === '') return
          event.stopPropagation()
          onChange('')
        }}
      />
    </span>
  )
}
