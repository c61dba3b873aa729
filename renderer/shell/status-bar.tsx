/** The place of truth: health of the sidecars, counts that link, and the posture in force. */
import { useState, type ReactNode } from 'react'
import type { SidecarName, SidecarView } from '../../preload/api.ts'
import { useFeed } from '../feed/feed-context.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { place, placeHref } from '../components/places.ts'
import { countOf } from '../components/quantities.ts'
import { SIDECAR_SHORT, SIDECAR_TITLES } from '../components/sidecar-names.ts'
import { selectLiveProcessCount, selectLiveSessionCount, selectSidecars } from './selectors.ts'
import { ServerMark } from '../sessions/server/server-line.tsx'
import { SidecarCard } from './sidecar-card.tsx'
import { SIDECAR_STATE_WORDS } from './sidecar-states.ts'
import './status-bar.css'

/** What happens where no rule decides. Agents on the exec server ask for themselves; the setting is about them. */
const POLICY_WORDS = {
  observe: { short: 'policy: ask; exec: record', long: 'Their commands run and are recorded.' },
  ask: { short: 'policy: ask', long: 'You are asked about their commands, too.' },
  enforce: { short: 'policy: ask; exec: rules only', long: 'What no rule allows to them is refused.' },
} as const

export function StatusBar(): ReactNode {
  const sidecars = useFeed(selectSidecars)
  const sessionCount = useFeed(selectLiveSessionCount)
  const processCount = useFeed(selectLiveProcessCount)
  const blockedToday = useFeed((state) => state.counters.blockedToday)
  const gate = useFeed((state) => state.settings.agentGate)
  const [openName, setOpenName] = useState<SidecarName | null>(null)
  const open = sidecars.find((sidecar) => sidecar.name === openName)

  return (
    <footer className="status-bar" data-region="status" aria-label="Status">
      <div className="status-sidecars" role="group" aria-label="Sidecars">
        {sidecars.map((sidecar) => (
          <SidecarDot key={sidecar.name} sidecar={sidecar} onOpen={() => setOpenName(sidecar.name)} />
        ))}
      </div>
      <div className="status-counts">
        <a href={placeHref(place('sessions'))}>{countOf(sessionCount, 'session')}</a>
        <a href={placeHref(place('processes'))}>{countOf(processCount, 'process', 'processes')}</a>
        <a href={placeHref(place('network'))}>{blockedToday.toLocaleString('en-US')} blocked today</a>
      </div>
      <ServerMark />
      <a
        className="status-gate"
        href={placeHref(place('settings'))}
        title={`Where no rule decides, you are asked. Agents that bring their own approvals (exec server): ${POLICY_WORDS[gate].long}`}
      >
        {POLICY_WORDS[gate].short}
      </a>
      {open && (
        <Dialog title={capitalize(SIDECAR_TITLES[open.name])} onClose={() => setOpenName(null)}>
          <SidecarCard sidecar={open} />
        </Dialog>
      )}
    </footer>
  )
}

function SidecarDot({ sidecar, onOpen }: { sidecar: SidecarView; onOpen: () => void }): ReactNode {
  const { name, state } = sidecar
  return (
    <button
      type="button"
      className={`sidecar-dot ${state}`}
      aria-label={`${SIDECAR_TITLES[name]}: ${SIDECAR_STATE_WORDS[state]}`}
      title={`${SIDECAR_TITLES[name]}: ${SIDECAR_STATE_WORDS[state]}`}
      aria-haspopup="dialog"
      onClick={onOpen}
    >
      {SIDECAR_SHORT[name]}
      {state === 'ready' ? <span className="dot" /> : <Icon name={state === 'starting' ? 'clock' : 'warning'} />}
      {/* Drawn by the style sheet: the button's name already has the whole state. */}
      {state !== 'ready' && <span className="sidecar-state" data-word={state === 'backoff' ? 'down' : state} />}
      {sidecar.warnings.length > 0 && state === 'ready' && <Icon name="warning" />}
    </button>
  )
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
