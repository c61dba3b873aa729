/** Network: the last hour, its hosts, every connection, and what to do about each. */
import { useMemo, useState, type ReactNode } from 'react'
import type { ConnectionView } from '../../preload/api.ts'
import { selectRuleName } from '../approvals/outcome-line.tsx'
import { commandText, shorten } from '../approvals/subject-words.ts'
import { useActions } from '../components/actions.tsx'
import { FilterChip, ToggleChip } from '../components/chip.tsx'
import { useCoarseNowMs } from '../components/clock.ts'
import { MenuButton } from '../components/menu-button.tsx'
import { PageHead } from '../components/page.tsx'
import { go, place, type Narrowing } from '../components/places.ts'
import { countOf, formatCount } from '../components/quantities.ts'
import { RowGrid } from '../components/row-grid.tsx'
import { SearchField } from '../components/search-field.tsx'
import { SplitPane } from '../components/split-pane.tsx'
import { StaleBanner, useDownSidecar } from '../components/stale-banner.tsx'
import { EmptyState } from '../components/states.tsx'
import { usePointerHold } from '../components/use-pointer-hold.ts'
import { useFeed, useHostLink } from '../feed/feed-context.tsx'
import { useAllowances } from './allowances.ts'
import { connectionColumns } from './connection-columns.tsx'
import { ConnectionInspector } from './connection-inspector.tsx'
import { HostRanking } from './host-ranking.tsx'
import { NetworkSwitches } from './network-switches.tsx'
import {
  countByMinute,
  filterConnections,
  latestConnections,
  rankHosts,
  sessionsIn,
  sortConnections,
  VERDICTS,
  type ConnectionSort,
  type SessionChoice,
  type Verdict,
} from './selectors.ts'
import { spanWords, TrafficChart, type Span } from './traffic-chart.tsx'
import { useConnectionExport, type ExportFormat } from './use-connection-export.ts'
import { useEgressDecision } from './use-egress-decision.ts'
import { useStillRows } from './use-still-rows.ts'
import { useThrottledConnections } from './use-throttled-table.ts'
import './network-page.css'

const HOSTS_SHOWN = 50
const CHART_STEP_MS = 5_000
const EXPORTS: readonly { format: ExportFormat; note: string }[] = [
  { format: 'csv', note: 'for a spreadsheet' },
  { format: 'json', note: 'everything that is shown' },
  { format: 'har', note: 'for the network tools of a browser' },
]
const LATEST_FIRST: ConnectionSort = { column: 'time', descending: true }

export function NetworkPage({ id, narrowing }: { id: string | null; narrowing: Narrowing | null }): ReactNode {
  const table = useThrottledConnections()
  const nowMs = useCoarseNowMs(CHART_STEP_MS)
  const isStale = useDownSidecar('network-proxy') !== null
  const [query, setQuery] = useState('')
  const [verdicts, setVerdicts] = useState<ReadonlySet<Verdict>>(new Set())
  const [host, setHost] = useState<string | null>(null)
  const [span, setSpan] = useState<Span | null>(null)
  const [sort, setSort] = useState(LATEST_FIRST)
  const hand = usePointerHold()
  const [atTop, setAtTop] = useState(true)
  const decide = useEgressDecision()

  const all = latestConnections(table)
  const narrowed = useMemo(
    () => filterConnections(all, { query, verdicts, narrowing, host: null, span }),
    [all, narrowing, query, span, verdicts],
  )
  const filtered = useMemo(
    () =>
      sortConnections(
        filterConnections(narrowed, { query: '', verdicts: new Set(), narrowing: null, host, span: null }),
        sort,
      ),
    [host, narrowed, sort],
  )
  const minutes = useMemo(
    () => countByMinute(filterConnections(all, { query: '', verdicts: new Set(), narrowing, host, span: null }), nowMs),
    [all, host, narrowing, nowMs],
  )
  const hosts = useMemo(() => rankHosts(narrowed, HOSTS_SHOWN), [narrowed])
  const looking = JSON.stringify([query, [...verdicts], narrowing, host, span, sort])
  const { rows, heldBack } = useStillRows(filtered, looking, hand.held || !atTop)
  const exportRows = useConnectionExport()
  const chosen = id === null ? undefined : table.rows.get(id)

  const allowances = useAllowances()
  const onAllow = (row: ConnectionView): void => {
    void decide(row, { verdict: 'allow', scope: 'session', breadth: 'host-port' }).then((ruleId) => {
      if (ruleId !== null) allowances.remember(row, ruleId)
    })
  }
  const { store } = useHostLink()
  const columns = connectionColumns({
    current: (row) => table.rows.get(row.id) ?? row,
    onAllow,
    isAllowedNow: allowances.holdsFor,
    ruleName: (row) => selectRuleName(store.getState(), row.ruleId),
    processWords: (row) => {
      const process = row.processId === null ? undefined : store.getState().tables.processes.rows.get(row.processId)
      return process ? commandText(process.argv) : row.command
    },
    narrow: chosen !== undefined,
  })
  const [currentId, setCurrentId] = useState<string | null>(null)
  const select = (next: string | null): void => {
    setCurrentId(next ?? id)
    go(place('network', next, narrowing), { replaces: id !== null && next !== null })
  }
  // Moving through the rows moves an open inspector along, and does not open a closed one.
  const moveTo = (next: string): void => (chosen ? select(next) : setCurrentId(next))
  const toggle = (verdict: Verdict): void => {
    const next = new Set(verdicts)
    if (!next.delete(verdict)) next.add(verdict)
    setVerdicts(next)
  }
  useActions([
    ...EXPORTS.map(({ format }) => ({
      id: `export-${format}`,
      title: `Export connections as ${format.toUpperCase()}`,
      run: () => exportRows(filtered, format),
    })),
    {
      id: 'inspector',
      title: chosen ? 'Hide the inspector' : 'Show the inspector',
      chord: 'F4',
      run: () => select(chosen ? null : (rows[0]?.id ?? null)),
    },
  ])

  return (
    <>
      <StaleBanner name="network-proxy" what="connections" />
      <div className={`page-column ${isStale ? 'is-stale' : ''}`}>
        <PageHead title="Network" meta={countOf(filtered.length, 'connection')}>
          <SearchField label="Search connections" value={query} onChange={setQuery} />
          <MenuButton
            label="Export"
            icon="save"
            inert={filtered.length === 0}
            acts={EXPORTS.map(({ format, note }) => ({
              id: format,
              title: format.toUpperCase(),
              note,
              run: () => exportRows(filtered, format),
            }))}
          />
        </PageHead>
        <NetworkSwitches />
        {all.length === 0 ? (
          <NoConnections />
        ) : (
          <>
            <div className="network-summary">
              <TrafficChart minutes={minutes} span={span} onSpan={setSpan} />
              <HostRanking hosts={hosts} chosen={host} onChoose={setHost} />
            </div>
            <div className="network-filters" role="group" aria-label="Filters">
              {VERDICTS.map((verdict) => (
                <ToggleChip key={verdict} on={verdicts.has(verdict)} onToggle={() => toggle(verdict)}>
                  {verdict}
                </ToggleChip>
              ))}
              <SessionFilter sessions={sessionsIn(all)} narrowing={narrowing} id={id} />
              {narrowing && narrowing.by !== 'session' && (
                <NarrowingChip narrowing={narrowing} onRemove={() => go(place('network', id))} />
              )}
              {host && <FilterChip label={`host ${host}`} onRemove={() => setHost(null)} />}
              {span && <FilterChip label={spanWords(span)} onRemove={() => setSpan(null)} />}
              <span className="spacer" />
              <span role="status">
                {heldBack > 0 && (
                  <button
                    type="button"
                    className="chip accent new-rows"
                    onClick={() => {
                      hand.release()
                      setAtTop(true)
                      document.querySelector('[role="grid"]')?.scrollTo({ top: 0 })
                    }}
                  >
                    {formatCount(heldBack)} new
                  </button>
                )}
              </span>
            </div>
            <SplitPane
              name="network-inspector"
              label="Width of the inspector"
              side="end"
              initialPx={340}
              minPx={260}
              maxPx={560}
              folded={!chosen}
              pane={
                chosen && (
                  <ConnectionInspector
                    key={chosen.id}
                    connection={chosen}
                    onDecide={decide}
                    onClose={() => select(null)}
                  />
                )
              }
            >
              {rows.length === 0 ? (
                <EmptyState title="No connection matches." />
              ) : (
                <RowGrid
                  label="Connections"
                  columns={columns}
                  rows={rows}
                  keyOf={keyOfConnection}
                  currentKey={id ?? currentId}
                  onCurrent={moveTo}
                  onOpen={select}
                  onEscape={() => select(null)}
                  sort={sort}
                  onSort={(column) => setSort({ column, descending: sort.column === column ? !sort.descending : true })}
                  minWidthPx={chosen ? 300 : 540}
                  pointerHandlers={hand.handlers}
                  onScrolledToTop={setAtTop}
                />
              )}
            </SplitPane>
          </>
        )}
      </div>
    </>
  )
}

const keyOfConnection = (row: ConnectionView): string => row.id

/** One session's connections, hosts and chart, or those of all. */
function SessionFilter({
  sessions,
  narrowing,
  id,
}: {
  sessions: readonly SessionChoice[]
  narrowing: Narrowing | null
  id: string | null
}): ReactNode {
  const chosen = narrowing?.by === 'session' ? narrowing.value : ''
  if (sessions.length < 2 && chosen === '') return null
  const isKnown = chosen === '' || sessions.some((session) => session.id === chosen)
  return (
    <select
      className="field session-filter"
      aria-label="Session"
      value={chosen}
      onChange={({ target }) =>
        go(place('network', id, target.value === '' ? undefined : { by: 'session', value: target.value }))
      }
    >
      <option value="">all sessions</option>
      {!isKnown && <option value={chosen}>{chosen}</option>}
      {sessions.map((session) => (
        <option key={session.id} value={session.id}>
          {shorten(session.title, 60)}
        </option>
      ))}
    </select>
  )
}

function NarrowingChip({ narrowing, onRemove }: { narrowing: Narrowing; onRemove: () => void }): ReactNode {
  const name = useFeed((state) => {
    if (narrowing.by === 'session') return state.tables.sessions.rows.get(narrowing.value)?.title
    return narrowing.by === 'process'
      ? state.tables.processes.rows.get(narrowing.value)?.argv.join(' ')
      : narrowing.value
  })
  return <FilterChip label={`${narrowing.by} ${name || narrowing.value}`} onRemove={onRemove} />
}

function NoConnections(): ReactNode {
  const unknownHost = useFeed((state) => state.settings.unknownHost)
  return (
    <EmptyState title="Nothing has reached for the network yet.">
      <p>
        Every process that runs under Gatehouse gets its own way out, so each connection here names its process and
        session. A host that no rule names {unknownHost === 'ask' ? 'waits for your answer' : 'is refused'}.
      </p>
    </EmptyState>
  )
}
