/** Interrupts a session. When that hits more than one process it first says which. */
import { useState, type ReactNode } from 'react'
import type { ProcessView, SessionView } from '../../preload/api.ts'
import { commandText, shorten } from '../approvals/subject-words.ts'
import { useActions } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { countOf } from '../components/quantities.ts'
import { useToasts } from '../components/toasts.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useInvoke } from '../feed/feed-context.tsx'

export interface InterruptSession {
  /** Interrupts at once, or asks first. */
  start: () => void
  /** To be drawn by the page; null while nothing is asked. */
  dialog: ReactNode
}

export function useInterruptSession(session: SessionView, live: readonly ProcessView[]): InterruptSession {
  const invoke = useInvoke()
  const toasts = useToasts()
  const [asking, setAsking] = useState(false)
  const name = session.title || session.agentName

  const interrupt = (): void => {
    setAsking(false)
    void invoke('sessions.interrupt', session.id).then((outcome) =>
      outcome.ok
        ? toasts.show({ message: `Interrupted ${name}` })
        : toasts.show({ tone: 'failure', message: `${name} was not interrupted. ${outcome.message}` }),
    )
  }
  const start = (): void => (live.length > 1 ? setAsking(true) : interrupt())
  useActions(
    session.closedAtMs === null ? [{ id: 'interrupt', title: `Interrupt ${name}`, chord: 'Mod+.', run: start }] : [],
  )

  const count = countOf(live.length, 'process', 'processes')
  return {
    start,
    dialog: asking && (
      <Dialog title={`Interrupt ${count}?`} onClose={() => setAsking(false)}>
        <ul>
          {live.map((process) => (
            <li key={process.id} className="truncate">
              <VisibleText code text={shorten(commandText(process.argv), 120)} />
            </li>
          ))}
        </ul>
        <div className="dialog-actions">
          <Button onClick={() => setAsking(false)}>Keep running</Button>
          <Button tone="danger" onClick={interrupt}>
            Interrupt {count}
          </Button>
        </div>
      </Dialog>
    ),
  }
}
