/** Processes: the table, and the page of the one that is open. */
import type { ReactNode } from 'react'
import { PageHead } from '../components/page.tsx'
import { place, type Narrowing } from '../components/places.ts'
import { StaleBanner, useDownSidecar } from '../components/stale-banner.tsx'
import { EmptyState } from '../components/states.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import { ProcessDetail } from './process-detail.tsx'
import { ProcessTable } from './process-table.tsx'

export function ProcessesPage({ id, narrowing }: { id: string | null; narrowing: Narrowing | null }): ReactNode {
  const process = useFeed((state) => (id === null ? undefined : state.tables.processes.rows.get(id)))
  const isStale = useDownSidecar('exec-server') !== null
  return (
    <>
      <StaleBanner name="exec-server" what="processes" />
      <div className={`page-column ${isStale ? 'is-stale' : ''}`}>
        {id === null ? (
          <ProcessTable narrowing={narrowing} />
        ) : process ? (
          <ProcessDetail key={process.id} process={process} />
        ) : (
          <>
            <PageHead title="Process" parent={{ name: 'Processes', place: place('processes') }} />
            <EmptyState title="This process is not known any more.">
              <p>Its start and exit are in the journal; its output is no longer kept.</p>
            </EmptyState>
          </>
        )}
      </div>
    </>
  )
}
