/** The sidecar behind a page is down: what is shown is the last truth, with its time and a way back. */
import { useState, type ReactNode } from 'react'
import type { SidecarName, SidecarView } from '../../preload/api.ts'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import type { FeedState } from '../feed/feed-state.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { formatClock } from './quantities.ts'
import { SIDECAR_TITLES } from './sidecar-names.ts'
import { VisibleText } from './visible-text.tsx'

/** The sidecar when it is known and not ready; what it feeds is then stale. */
export function selectDownSidecar(state: FeedState, name: SidecarName): SidecarView | null {
  const sidecar = state.tables.sidecars.rows.get(name)
  return sidecar && sidecar.state !== 'ready' ? sidecar : null
}

export function useDownSidecar(name: SidecarName): SidecarView | null {
  return useFeed((state) => selectDownSidecar(state, name))
}

const STATE_WORDS: Record<SidecarView['state'], string> = {
  starting: 'is starting',
  ready: 'is ready',
  backoff: 'stopped and will be started again',
  failed: 'keeps failing and was given up',
  stopped: 'is stopped',
}

export function StaleBanner({ name, what }: { name: SidecarName; what: string }): ReactNode {
  const sidecar = useDownSidecar(name)
  const lastReadyAtMs = useFeed((state) => state.lastReadyAtMs[name])
  const invoke = useInvoke()
  const [failure, setFailure] = useState<string | null>(null)
  if (!sidecar) return null
  return (
    <div className="stale-banner" role="status">
      <Icon name="warning" />
      <p>
        The {SIDECAR_TITLES[name]} {STATE_WORDS[sidecar.state]}. The {what} shown{' '}
        {lastReadyAtMs === undefined ? 'may be out of date' : `are as of ${formatClock(lastReadyAtMs)}`}.
        {sidecar.lastError && (
          <span className="dim">
            {' '}
            It <VisibleText text={sidecar.lastError} />.
          </span>
        )}
        {failure && <span> {failure}</span>}
      </p>
      {sidecar.state !== 'starting' && (
        <Button
          aria-label={`Restart the ${SIDECAR_TITLES[name]}`}
          onClick={() =>
            void invoke('sidecars.restart', name).then((answer) => setFailure(answer.ok ? null : answer.message))
          }
        >
          Restart
        </Button>
      )}
    </div>
  )
}
