/** Small words with a shape: states, verdicts, filters. */
import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'
import './chip.css'

export type ChipTone = 'neutral' | 'accent' | 'allow' | 'deny' | 'warn'

export function Chip({
  tone = 'neutral',
  icon,
  children,
}: {
  tone?: ChipTone
  icon?: IconName
  children: ReactNode
}): ReactNode {
  return (
    <span className={`chip ${tone}`}>
      {icon && <Icon name={icon} />}
      {children}
    </span>
  )
}

/** A filter in force; pressing it takes the filter away. */
export function FilterChip({ label, onRemove }: { label: string; onRemove: () => void }): ReactNode {
  return (
    <button type="button" className="chip filter" onClick={onRemove} aria-label={`Remove filter ${label}`}>
      <span className="truncate">{label}</span>
      <Icon name="cross" />
    </button>
  )
}

/** One of several choices that filter a list; any number may be on. */
export function ToggleChip(props: {
  on: boolean
  onToggle: () => void
  tone?: ChipTone
  icon?: IconName
  children: ReactNode
}): ReactNode {
  return (
    <button
      type="button"
      className={`chip toggle ${props.tone ?? 'neutral'}`}
      aria-pressed={props.on}
      onClick={props.onToggle}
    >
      {props.icon && <Icon name={props.icon} />}
      {props.children}
    </button>
  )
}
