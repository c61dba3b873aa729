/** All there is to know about one sidecar, and what can be done about it. */
import { useState, type ReactNode } from 'react'
import type { SidecarView } from '../../preload/api.ts'
import { useInvoke } from '../feed/feed-context.tsx'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Fact } from '../components/fact.tsx'
import { SIDECAR_TITLES } from '../components/sidecar-names.ts'
import { countOf } from '../components/quantities.ts'
import { Elapsed } from '../components/time-text.tsx'
import { useNowMs } from '../components/clock.ts'
import { VisibleText } from '../components/visible-text.tsx'
import { SIDECAR_STATE_WORDS } from './sidecar-states.ts'
import './sidecar-card.css'

export function SidecarCard({ sidecar }: { sidecar: SidecarView }): ReactNode {
  const invoke = useInvoke()
  const [said, setSaid] = useState<string | null>(null)
  const title = SIDECAR_TITLES[sidecar.name]
  const endpoints = Object.entries(sidecar.endpoints)

  const restart = (): void => {
    setSaid('Restarting')
    void invoke('sidecars.restart', sidecar.name).then((outcome) => setSaid(outcome.ok ? null : outcome.message))
  }
  const copyDiagnostics = (): void => {
    void invoke('sidecars.diagnostics', sidecar.name).then(async (outcome) => {
      const copied = outcome.ok ? await invoke('clipboard.write', outcome.value) : outcome
      setSaid(copied.ok ? 'Diagnostics copied' : copied.message)
    })
  }

  return (
    <div className="sidecar-card">
      <dl className="facts column">
        <Fact name="state">
          {SIDECAR_STATE_WORDS[sidecar.state]}
          {sidecar.retryAtMs !== null && <RetryIn atMs={sidecar.retryAtMs} />}
        </Fact>
        {sidecar.startedAtMs !== null && sidecar.state === 'ready' && (
          <Fact name="up">
            <Elapsed sinceMs={sidecar.startedAtMs} />
          </Fact>
        )}
        <Fact name="generation">
          {sidecar.generation}
          {sidecar.restarts > 0 && `, ${countOf(sidecar.restarts, 'restart')}`}
          {sidecar.pid !== null && `, pid ${sidecar.pid}`}
        </Fact>
        {endpoints.map(([transport, address]) => (
          <Fact key={transport} name={transport}>
            <span className="endpoint">
              <VisibleText code text={address} />
              <CopyButton text={address} label="" name={`Copy the ${transport} address of the ${title}`} />
            </span>
          </Fact>
        ))}
      </dl>
      {sidecar.warnings.map((warning) => (
        <p key={warning} className="sidecar-warning">
          {warning}
        </p>
      ))}
      {sidecar.lastError && <p className="sidecar-error">{sidecar.lastError}</p>}
      {sidecar.stderrTail.length > 0 && (
        <pre className="stderr-tail" tabIndex={0} role="region" aria-label={`Last error lines of the ${title}`}>
          {sidecar.stderrTail.map((line, index) => (
            <div key={index}>
              <VisibleText code text={line} />
            </div>
          ))}
        </pre>
      )}
      <div className="dialog-actions">
        <span className="meta grow" role="status">
          {said}
        </span>
        <Button icon="copy" onClick={copyDiagnostics}>
          Copy diagnostics
        </Button>
        <Button onClick={restart} aria-label={`Restart the ${title}`}>
          Restart
        </Button>
      </div>
    </div>
  )
}

function RetryIn({ atMs }: { atMs: number }): ReactNode {
  const nowMs = useNowMs()
  const seconds = Math.max(0, Math.ceil((atMs - nowMs) / 1_000))
  return <>, next start {seconds === 0 ? 'now' : `in ${seconds} s`}</>
}
