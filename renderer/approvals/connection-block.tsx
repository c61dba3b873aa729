/** Where a process wants to connect to, and what is known about that place. */
import { useMemo, type ReactNode } from 'react'
import type { ApprovalView, Subject } from '../../preload/api.ts'
import { useFeed } from '../feed/feed-context.tsx'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'
import { hostAndPort, hostName, isAddress } from '../components/host-name.ts'
import { place, placeHref } from '../components/places.ts'
import { countOf } from '../components/quantities.ts'
import { Fact } from '../components/fact.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { commandText, protocolWords, shorten } from './subject-words.ts'

type ConnectionSubject = Extract<Subject, { kind: 'connection' }>

/** Anybody can put anything under these: allowing the host allows every tenant's content of that name. */
const SHARED_HOSTING =
  /(?:^|\.)(?:github\.io|githubusercontent\.com|gitlab\.io|pages\.dev|workers\.dev|vercel\.app|netlify\.app|herokuapp\.com|amazonaws\.com|cloudfront\.net|azurewebsites\.net|blob\.core\.windows\.net|googleusercontent\.com|storage\.googleapis\.com|firebaseapp\.com|web\.app|ngrok\.io|ngrok-free\.app|trycloudflare\.com|pastebin\.com)$/

export function ConnectionBlock({
  request,
  subject,
}: {
  request: ApprovalView
  subject: ConnectionSubject
}): ReactNode {
  const process = useFeed((state) =>
    request.processId ? state.tables.processes.rows.get(request.processId) : undefined,
  )
  const reached = useReachedHosts(request.processId)
  const { shown, ascii } = hostName(subject.host)
  const others = reached.filter((host) => host !== subject.host)
  return (
    <div className="connection-block">
      <p className="destination">
        <VisibleText code text={hostAndPort(shown, subject.port)} />
        {ascii && (
          <span className="dim">
            {' '}
            (<VisibleText code text={ascii} />)
          </span>
        )}{' '}
        over {protocolWords(subject.protocol)}
        {subject.method && subject.method !== 'CONNECT' && <> with {subject.method}</>}
      </p>
      {isAddress(subject.host) && (
        <p className="caution">This is an address without a name: nothing says whose it is.</p>
      )}
      {SHARED_HOSTING.test(subject.host) && (
        <p className="caution">Shared hosting: anybody can publish under names like this one.</p>
      )}
      <dl className="facts">
        {process && (
          <Fact name="asked by">
            <a className="link" href={placeHref(place('processes', process.id))}>
              <VisibleText code text={shorten(commandText(process.argv), 80)} />
            </a>
            {process.pid !== null && ` (pid ${process.pid})`}
          </Fact>
        )}
        {subject.address && (
          <Fact name="resolves to">
            <VisibleText code text={subject.address} />
          </Fact>
        )}
        {request.waiting > 1 && <Fact name="waiting">{countOf(request.waiting, 'connection')}</Fact>}
        {others.length > 0 && (
          <Fact name="also reached">
            <VisibleText code text={shorten(others.join(', '), 160)} />
          </Fact>
        )}
        <Fact name="checked">the host and port only: paths are not seen without HTTPS inspection</Fact>
      </dl>
    </div>
  )
}

const hostsByProcess = memoizeLast((table: FeedState['tables']['connections']) => {
  const hosts = new Map<string, Set<string>>()
  for (const { processId, host, verdict } of table.rows.values()) {
    if (processId === null || verdict !== 'allow') continue
    hosts.set(processId, (hosts.get(processId) ?? new Set()).add(host))
  }
  return hosts
})

function useReachedHosts(processId: string | null): string[] {
  const byProcess = useFeed((state) => hostsByProcess(state.tables.connections))
  return useMemo(() => (processId ? [...(byProcess.get(processId) ?? [])] : []), [byProcess, processId])
}
