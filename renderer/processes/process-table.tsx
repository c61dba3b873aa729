/** All processes, one row each. */
import { useMemo, useState, type ReactNode } from 'react'
import type { ProcessView } from '../../preload/api.ts'
import { commandText, shorten } from '../approvals/subject-words.ts'
import { FilterChip, ToggleChip } from '../components/chip.tsx'
import { PageHead } from '../components/page.tsx'
import { go, place, type Narrowing } from '../components/places.ts'
import { countOf, formatBytes, formatClock } from '../components/quantities.ts'
import { RowGrid, type GridColumn } from '../components/row-grid.tsx'
import { SearchField } from '../components/search-field.tsx'
import { EmptyState } from '../components/states.tsx'
import { Elapsed } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import { ProcessState } from './process-state.tsx'
import { filterProcesses, selectProcesses, type ProcessSort } from './selectors.ts'

const COLUMNS: readonly GridColumn<ProcessView>[] = [
  { id: 'state', title: 'State', track: '168px', cell: (process) => <ProcessState process={process} /> },
  {
    id: 'command',
    title: 'Command',
    track: 'minmax(200px, 3fr)',
    sortable: true,
    cell: (process) => <VisibleText code text={shorten(commandText(process.argv), 240)} />,
  },
  {
    id: 'session',
    title: 'Session',
    leastGridPx: 690,
    track: 'minmax(100px, 1fr)',
    sortable: true,
    cell: (process) => <VisibleText text={process.sessionTitle} />,
  },
  {
    id: 'pid',
    title: 'Pid',
    leastGridPx: 850,
    track: '64px',
    alignEnd: true,
    cell: (process) => process.pid ?? '',
  },
  {
    id: 'started',
    title: 'Started',
    leastGridPx: 580,
    track: '72px',
    alignEnd: true,
    sortable: true,
    cell: (process) => formatClock(process.startedAtMs),
  },
  {
    id: 'duration',
    title: 'Duration',
    track: '72px',
    alignEnd: true,
    cell: (process) =>
      process.pid !== null && <Elapsed sinceMs={process.startedAtMs} untilMs={process.exitedAtMs ?? null} />,
  },
  {
    id: 'cpu',
    title: 'CPU',
    leastGridPx: 1_000,
    track: '56px',
    alignEnd: true,
    sortable: true,
    cell: (process) => (process.cpuPercent === null ? '' : `${process.cpuPercent.toFixed(0)} %`),
  },
  {
    id: 'memory',
    title: 'Memory',
    leastGridPx: 1_000,
    track: '72px',
    alignEnd: true,
    sortable: true,
    cell: (process) => (process.rssBytes === null ? '' : formatBytes(process.rssBytes)),
  },
  {
    id: 'output',
    title: 'Output',
    leastGridPx: 850,
    track: '72px',
    alignEnd: true,
    sortable: true,
    cell: (process) => formatBytes(process.outputBytes),
  },
]

export function ProcessTable({ narrowing }: { narrowing: Narrowing | null }): ReactNode {
  const processes = useFeed(selectProcesses)
  const [query, setQuery] = useState('')
  const [liveOnly, setLiveOnly] = useState(false)
  const [sort, setSort] = useState<ProcessSort | null>(null)
  const [currentId, setCurrentId] = useState<string | null>(null)
  const session = useFeed((state) =>
    narrowing?.by === 'session' ? state.tables.sessions.rows.get(narrowing.value) : undefined,
  )
  const rows = useMemo(
    () => filterProcesses(processes, { query, liveOnly, narrowing }, sort),
    [liveOnly, narrowing, processes, query, sort],
  )

  const sortBy = (column: string): void => {
    // First press: largest or latest first; second: the other way; third: as it was.
    if (sort?.column !== column) setSort({ column, descending: true })
    else setSort(sort.descending ? { column, descending: false } : null)
  }

  return (
    <>
      <PageHead title="Processes" meta={countOf(rows.length, 'process', 'processes')}>
        {narrowing?.by === 'session' && (
          <FilterChip label={`session ${session?.title || narrowing.value}`} onRemove={() => go(place('processes'))} />
        )}
        <ToggleChip on={liveOnly} onToggle={() => setLiveOnly(!liveOnly)}>
          running
        </ToggleChip>
        <SearchField label="Search processes" value={query} onChange={setQuery} />
      </PageHead>
      {rows.length === 0 ? (
        <EmptyState title={processes.length === 0 ? 'Nothing has run yet.' : 'No process matches.'}>
          {processes.length === 0 && (
            <p>Every command that an agent runs through Gatehouse is a row here, with all of its output.</p>
          )}
        </EmptyState>
      ) : (
        <RowGrid
          label="Processes"
          columns={COLUMNS}
          rows={rows}
          keyOf={(process) => process.id}
          currentKey={currentId}
          onCurrent={setCurrentId}
          onOpen={(id) => go(place('processes', id))}
          sort={sort ?? undefined}
          onSort={sortBy}
          minWidthPx={490}
        />
      )}
    </>
  )
}
