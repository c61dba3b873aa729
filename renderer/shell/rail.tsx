/** The seven sections. Below 600 px the rail becomes a menu. */
import { useState, type ReactNode } from 'react'
import { useFeed } from '../feed/feed-context.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { writeChord } from '../components/key-chords.ts'
import { place, placeHref, SECTION_NAMES, SECTIONS, usePlace, type Section } from '../components/places.ts'
import { selectPendingCount } from '../approvals/selectors.ts'
import './rail.css'

const ICONS: Record<Section, IconName> = {
  inbox: 'inbox',
  sessions: 'sessions',
  processes: 'processes',
  network: 'network',
  agents: 'agents',
  rules: 'rules',
  settings: 'settings',
}

export function Rail(): ReactNode {
  const { section } = usePlace()
  const pendingCount = useFeed(selectPendingCount)
  const [open, setOpen] = useState(false)
  return (
    <nav className={`rail ${open ? 'open' : ''}`} data-region="rail" aria-label="Sections">
      <button type="button" className="rail-menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="menu" />
        <span className="visually-hidden">Sections, now</span>
        {SECTION_NAMES[section]}
        {pendingCount > 0 && <span className="badge">{pendingCount}</span>}
      </button>
      <ul>
        {SECTIONS.map((name, index) => (
          <li key={name} className={name === 'settings' ? 'last' : undefined}>
            <a
              href={placeHref(place(name))}
              className="rail-link"
              aria-current={name === section ? 'page' : undefined}
              aria-describedby={name === 'inbox' && pendingCount > 0 ? 'inbox-badge' : undefined}
              title={`${SECTION_NAMES[name]}  ${writeChord(`Mod+${index + 1}`)}`}
              onClick={() => setOpen(false)}
            >
              <Icon name={ICONS[name]} />
              <span className="rail-name">{SECTION_NAMES[name]}</span>
            </a>
            {name === 'inbox' && pendingCount > 0 && (
              <span className="badge" id="inbox-badge">
                {pendingCount > 99 ? '99+' : pendingCount}
                <span className="visually-hidden"> waiting for you</span>
              </span>
            )}
          </li>
        ))}
      </ul>
    </nav>
  )
}
