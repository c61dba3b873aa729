/** One session: who, where, what it runs, asked and reached; each a link. */
import type { ReactNode } from 'react'
import type { ApprovalView, ConnectionView, ProcessView, SessionView } from '../../preload/api.ts'
import { OutcomeLine } from '../approvals/outcome-line.tsx'
import { commandText, shorten, subjectLine } from '../approvals/subject-words.ts'
import { Button } from '../components/button.tsx'
import { Chip } from '../components/chip.tsx'
import { Fact } from '../components/fact.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { hostAndPort } from '../components/host-name.ts'
import { writeChord } from '../components/key-chords.ts'
import { PageBody, PageHead } from '../components/page.tsx'
import { place, placeHref, type Place } from '../components/places.ts'
import { countOf, formatClock } from '../components/quantities.ts'
import { Ago } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { ConnectionVerdict } from '../egress/connection-verdict.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import { ProcessState } from '../processes/process-state.tsx'
import { isLive } from '../processes/selectors.ts'
import { useInterruptSession } from './interrupt-session.tsx'
import { PostureChip } from './posture-chip.tsx'
import { selectConnectionsOfSession, selectProcessesOfSession, selectRequestsOfSession } from './selectors.ts'
import './session-detail.css'

const ROWS_SHOWN = 30

const VIA_WORDS: Record<string, string> = {
  'mcp-stdio': 'MCP, through its own process',
  'mcp-http': 'MCP over HTTP',
  'exec-ws': 'the exec server, over WebSocket',
  'exec-unix': 'the exec server, over its socket',
  'app-server': 'Gatehouse itself',
  'external-app-server': 'an app server that is not Gatehouse’s own',
  'command-line': 'the command line',
}

export function SessionDetail({ session }: { session: SessionView }): ReactNode {
  const home = useFeed(selectHome)
  const processes = useFeed((state) => selectProcessesOfSession(state, session.id))
  const requests = useFeed((state) => selectRequestsOfSession(state, session.id))
  const connections = useFeed((state) => selectConnectionsOfSession(state, session.id))
  const interrupt = useInterruptSession(session, processes.filter(isLive))

  return (
    <div className="page-column">
      <PageHead
        parent={{ name: 'Sessions', place: place('sessions') }}
        title={<VisibleText text={shorten(session.title || session.agentName, 80)} />}
        meta={<PostureChip posture={session.posture} />}
      >
        {session.closedAtMs === null && (
          <Button tone="danger" title={writeChord('Mod+.')} onClick={interrupt.start}>
            Interrupt session
          </Button>
        )}
      </PageHead>
      <PageBody>
        <dl className="facts">
          <Fact name="agent">
            <VisibleText
              text={session.agentVersion ? `${session.agentName} ${session.agentVersion}` : session.agentName}
            />
          </Fact>
          <Fact name="came by">{VIA_WORDS[session.via] ?? session.via}</Fact>
          {session.cwd && (
            <Fact name="in">
              <VisibleText code text={shortenPath(session.cwd, home)} />
            </Fact>
          )}
          <Fact name="opened">
            <Ago atMs={session.openedAtMs} />
          </Fact>
          {session.closedAtMs !== null && (
            <Fact name="ended">
              <Ago atMs={session.closedAtMs} />
            </Fact>
          )}
        </dl>
        <Part
          title="Requests"
          rows={requests}
          at={(row) => row.askedAtMs}
          keyOf={(row) => row.id}
          none="It has asked for nothing yet."
          draw={drawRequest}
        />
        <Part
          title="Processes"
          rows={processes}
          at={(row) => row.startedAtMs}
          keyOf={(row) => row.id}
          none="It has run nothing yet."
          more={place('processes', null, { by: 'session', value: session.id })}
          draw={drawProcess}
        />
        <Part
          title="Connections"
          rows={connections}
          at={(row) => row.openedAtMs}
          keyOf={(row) => row.id}
          none="It has reached for nothing yet."
          more={place('network', null, { by: 'session', value: session.id })}
          draw={drawConnection}
        />
      </PageBody>
      {interrupt.dialog}
    </div>
  )
}

interface PartProps<Row> {
  title: string
  rows: readonly Row[]
  at: (row: Row) => number
  keyOf: (row: Row) => string
  none: string
  more?: Place
  draw: (row: Row) => ReactNode
}

function Part<Row>({ title, rows, at, keyOf, none, more, draw }: PartProps<Row>): ReactNode {
  const latest = [...rows].sort((a, b) => at(b) - at(a)).slice(0, ROWS_SHOWN)
  return (
    <section className="session-part" aria-label={title}>
      <h2>
        {title} {rows.length > 0 && <span className="meta">{rows.length.toLocaleString('en-US')}</span>}
      </h2>
      {rows.length === 0 && <p className="dim">{none}</p>}
      <ul>
        {latest.map((row) => (
          <li key={keyOf(row)} className="linked-row">
            {draw(row)}
          </li>
        ))}
      </ul>
      {more && rows.length > 0 && (
        <a className="link" href={placeHref(more)}>
          {rows.length > latest.length
            ? `All ${countOf(rows.length, 'row')}`
            : `Open in ${title === 'Connections' ? 'Network' : title}`}
        </a>
      )}
    </section>
  )
}

function drawRequest(request: ApprovalView): ReactNode {
  const line = <VisibleText code text={shorten(subjectLine(request.subject), 160)} />
  if (request.state !== 'pending')
    return (
      <>
        <span className="truncate">{line}</span>
        <OutcomeLine request={request} />
      </>
    )
  return (
    <>
      <a className="truncate" href={placeHref(place('inbox', request.id))}>
        {line}
      </a>
      <Chip tone="accent" icon="question">
        waits for you
      </Chip>
    </>
  )
}

function drawProcess(process: ProcessView): ReactNode {
  return (
    <>
      <a className="truncate" href={placeHref(place('processes', process.id))}>
        <VisibleText code text={shorten(commandText(process.argv), 160)} />
      </a>
      <ProcessState process={process} />
    </>
  )
}

function drawConnection(connection: ConnectionView): ReactNode {
  return (
    <>
      <a className="truncate" href={placeHref(place('network', connection.id))}>
        <VisibleText code text={hostAndPort(connection.host, connection.port)} />
      </a>
      <span className="row-end">
        <span className="meta">{formatClock(connection.openedAtMs)}</span>
        <ConnectionVerdict connection={connection} />
      </span>
    </>
  )
}
