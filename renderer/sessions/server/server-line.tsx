/** Says that sessions live with a server that is not ours, and how the link is. Nothing while they are ours. */
import type { ReactNode } from 'react'
import { Icon } from '../../components/icon.tsx'
import { place, placeHref } from '../../components/places.ts'
import { VisibleText } from '../../components/visible-text.tsx'
import { useSessionServer } from './use-session-server.ts'
import './server-line.css'

const STATE_WORDS = { connecting: 'connecting', ready: 'connected', down: 'not connected' } as const

/** Over the list of sessions. */
export function ServerLine({ inSettings = false }: { inSettings?: boolean }): ReactNode {
  const server = useSessionServer()
  if (server?.kind !== 'external') return null
  return (
    <div className={`server-line ${server.state}`} role="status" aria-label="Server of the sessions">
      <Icon name={server.state === 'ready' ? 'check' : server.state === 'down' ? 'warning' : 'clock'} />
      <div>
        <p>
          Sessions of <strong>{server.name}</strong>, {STATE_WORDS[server.state]}
        </p>
        <p className="meta">
          <VisibleText code text={server.address} />
        </p>
        {server.problem !== null && (
          <p className="meta">
            <VisibleText text={server.problem} />. It is tried again by itself; what waited for you was withdrawn.
          </p>
        )}
        {!inSettings && (
          <a className="link meta" href={placeHref(place('settings'))}>
            Use another server
          </a>
        )}
      </div>
    </div>
  )
}

/** In the status bar. */
export function ServerMark(): ReactNode {
  const server = useSessionServer()
  if (server?.kind !== 'external') return null
  return (
    <a
      className={`server-mark ${server.state}`}
      href={placeHref(place('settings'))}
      title={server.problem ?? server.address}
    >
      {server.state === 'down' && <Icon name="warning" />}
      sessions: {server.name}
      {server.state !== 'ready' && `, ${STATE_WORDS[server.state]}`}
    </a>
  )
}
