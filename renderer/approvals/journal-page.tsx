/** The audit journal, latest first: every request, decision, start, exit and connection. */
import { useCallback, useEffect, useState, type ReactNode } from 'react'
import type { AuditView } from '../../preload/api.ts'
import { useInvoke } from '../feed/feed-context.tsx'
import { Button } from '../components/button.tsx'
import { PageBody, PageHead } from '../components/page.tsx'
import { place, placeHref } from '../components/places.ts'
import { formatMoment } from '../components/quantities.ts'
import { EmptyState, ErrorNote, SkeletonRows } from '../components/states.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import './journal-page.css'

const PAGE_ENTRIES = 200

export function JournalPage(): ReactNode {
  const invoke = useInvoke()
  const [entries, setEntries] = useState<readonly AuditView[] | null>(null)
  const [next, setNext] = useState<number | null>(null)
  const [failure, setFailure] = useState<string | null>(null)

  const load = useCallback(
    (before: number | null) => {
      void invoke('audit.page', before, PAGE_ENTRIES).then((outcome) => {
        setFailure(outcome.ok ? null : outcome.message)
        if (!outcome.ok) return
        const page = outcome.value
        setEntries((known) => (before === null ? page.entries : [...(known ?? []), ...page.entries]))
        setNext(page.next)
      })
    },
    [invoke],
  )
  useEffect(() => load(null), [load])

  return (
    <>
      <PageHead title="Journal" parent={{ name: 'Inbox', place: place('inbox') }}>
        <Button onClick={() => load(null)}>Read again</Button>
      </PageHead>
      <PageBody>
        {failure && <ErrorNote message={`The journal could not be read. ${failure}`} />}
        {entries === null && !failure && <SkeletonRows label="Reading the journal" />}
        {entries?.length === 0 && (
          <EmptyState title="The journal is empty.">
            <p>Every request, decision, process and connection is written here as it happens.</p>
          </EmptyState>
        )}
        {entries !== null && entries.length > 0 && (
          <table className="journal">
            <caption className="visually-hidden">Journal entries, latest first</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Kind</th>
                <th scope="col">What happened</th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <tr key={entry.seq}>
                  <td className="meta">{formatMoment(entry.atMs)}</td>
                  <td className="meta">{entry.kind}</td>
                  <td>
                    {entry.sessionId === null ? (
                      <VisibleText text={entry.summary} />
                    ) : (
                      <a href={placeHref(place('sessions', entry.sessionId))}>
                        <VisibleText text={entry.summary} />
                      </a>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {next !== null && <Button onClick={() => load(next)}>Show earlier entries</Button>}
      </PageBody>
    </>
  )
}
