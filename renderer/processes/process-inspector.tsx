/** All facts of a process, and where it leads: session, decision, connections. */
import { useMemo, type ReactNode } from 'react'
import type { ConnectionView, ProcessView } from '../../preload/api.ts'
import { shorten } from '../approvals/subject-words.ts'
import { OutcomeLine } from '../approvals/outcome-line.tsx'
import { Fact } from '../components/fact.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { hostAndPort } from '../components/host-name.ts'
import { place, placeHref } from '../components/places.ts'
import { formatBytes, formatCount, formatMoment } from '../components/quantities.ts'
import { Elapsed } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { ConnectionVerdict } from '../egress/connection-verdict.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'
import { exitWords } from './selectors.ts'
import { useOutputHint } from './use-output-hint.ts'
import './process-inspector.css'

const CONNECTIONS_SHOWN = 20

export function ProcessInspector({ process }: { process: ProcessView }): ReactNode {
  const home = useFeed(selectHome)
  const request = useFeed((state) =>
    process.requestId ? state.tables.approvals.rows.get(process.requestId) : undefined,
  )
  const connections = useConnectionsOf(process.id)
  const exit = exitWords(process)
  const hint = useOutputHint(process)
  return (
    <div className="inspector" data-region="inspector" role="region" aria-label="About this process" tabIndex={-1}>
      <dl className="facts column">
        <Fact name="session">
          <a className="link" href={placeHref(place('sessions', process.sessionId))}>
            <VisibleText text={shorten(process.sessionTitle || process.sessionId, 80)} />
          </a>
        </Fact>
        <Fact name="in">
          <VisibleText code text={shortenPath(process.cwd, home)} />
        </Fact>
        {process.pid !== null && <Fact name="pid">{process.pid}</Fact>}
        <Fact name="terminal">{process.tty ? 'yes' : 'no, pipes'}</Fact>
        <Fact name={process.pid === null ? 'asked' : 'started'}>{formatMoment(process.startedAtMs)}</Fact>
        {process.pid !== null && (
          <Fact name="duration">
            <Elapsed sinceMs={process.startedAtMs} untilMs={process.exitedAtMs ?? null} />
          </Fact>
        )}
        {exit && <Fact name="ended">{exit}</Fact>}
        {process.detail && (
          <Fact name="because">
            <VisibleText text={process.detail} />
          </Fact>
        )}
        {process.cpuPercent !== null && <Fact name="CPU">{process.cpuPercent.toFixed(1)} %</Fact>}
        {process.rssBytes !== null && <Fact name="memory">{formatBytes(process.rssBytes)}</Fact>}
        <Fact name="output">{formatCount(process.outputBytes)} bytes</Fact>
      </dl>
      {request && (
        <section>
          <h2>Decision</h2>
          <OutcomeLine request={request} />
        </section>
      )}
      <section>
        <h2>Connections {connections.length > 0 && formatCount(connections.length)}</h2>
        {hint !== null && <p className="inspector-hint">{hint}</p>}
        {connections.length === 0 ? (
          <p className="dim">None.</p>
        ) : (
          <ul className="inspector-list">
            {connections.slice(0, CONNECTIONS_SHOWN).map((connection) => (
              <li key={connection.id}>
                <a className="truncate" href={placeHref(place('network', connection.id))}>
                  <VisibleText code text={hostAndPort(connection.host, connection.port)} />
                </a>
                <ConnectionVerdict connection={connection} />
              </li>
            ))}
          </ul>
        )}
        {connections.length > 0 && (
          <a className="link" href={placeHref(place('network', null, { by: 'process', value: process.id }))}>
            Open in Network
          </a>
        )}
      </section>
    </div>
  )
}

const byProcess = memoizeLast((table: FeedState['tables']['connections']) => {
  const groups = new Map<string, ConnectionView[]>()
  for (const connection of table.rows.values()) {
    if (connection.processId === null) continue
    const group = groups.get(connection.processId)
    if (group) group.push(connection)
    else groups.set(connection.processId, [connection])
  }
  return groups
})

function useConnectionsOf(processId: string): readonly ConnectionView[] {
  const table = useFeed((state) => state.tables.connections)
  return useMemo(
    () => [...(byProcess(table).get(processId) ?? [])].sort((a, b) => b.openedAtMs - a.openedAtMs),
    [processId, table],
  )
}
