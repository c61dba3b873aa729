/** The columns of the Network table. */
import type { ReactNode } from 'react'
import type { ConnectionView } from '../../preload/api.ts'
import { protocolWords, shorten } from '../approvals/subject-words.ts'
import { Button } from '../components/button.tsx'
import { hostAndPort, hostName } from '../components/host-name.ts'
import { formatBytes, formatClock, formatSpan } from '../components/quantities.ts'
import type { GridColumn } from '../components/row-grid.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { ConnectionVerdict } from './connection-verdict.tsx'
import { readExchanges, type Exchange } from './exchanges.ts'
import { verdictOf } from './selectors.ts'

export interface ConnectionColumnsOptions {
  /** The row as it is now: the list may hold an older state of it. */
  current: (row: ConnectionView) => ConnectionView
  onAllow: (row: ConnectionView) => void
  /** Allowed from here since; the block in the row is history. */
  isAllowedNow: (row: ConnectionView) => boolean
  /** Where the deciding rule stands, e.g. `default.rules:9`. */
  ruleName: (row: ConnectionView) => string | null
  /** The process in words; null when it is not known. */
  processWords: (row: ConnectionView) => string | null
  /** Leaves out what the inspector beside the table shows. */
  narrow: boolean
}

const IN_INSPECTOR = new Set(['session', 'rule', 'bytes', 'act'])

export function connectionColumns({
  current,
  onAllow,
  isAllowedNow,
  ruleName,
  processWords,
  narrow,
}: ConnectionColumnsOptions): GridColumn<ConnectionView>[] {
  const act = (row: ConnectionView, isCurrent: boolean) => {
    if (verdictOf(row) !== 'blocked' || row.sessionId === null) return null
    if (isAllowedNow(row)) return <span className="meta">allowed now</span>
    return (
      <Button
        tabIndex={isCurrent ? 0 : -1}
        title={`${hostAndPort(row.host, row.port)}, for ${row.sessionTitle ?? 'this session'}`}
        aria-description={hostAndPort(row.host, row.port)}
        onClick={(event) => {
          event.stopPropagation()
          onAllow(row)
        }}
      >
        Allow for this session
      </Button>
    )
  }
  const columns: GridColumn<ConnectionView>[] = [
    {
      id: 'time',
      title: 'Time',
      leastGridPx: 420,
      track: '68px',
      sortable: true,
      cell: (row) => formatClock(row.openedAtMs),
    },
    { id: 'verdict', title: 'Verdict', track: '116px', cell: (row) => <ConnectionVerdict connection={row} /> },
    {
      id: 'host',
      title: 'Host',
      track: 'minmax(140px, 3fr)',
      sortable: true,
      cell: (row) => <HostCell row={row} />,
    },
    {
      id: 'method',
      title: 'Method',
      leastGridPx: 760,
      track: '84px',
      cell: (row) => latestExchange(row)?.method ?? row.method ?? protocolWords(row.protocol),
    },
    {
      id: 'process',
      title: 'Process',
      leastGridPx: 660,
      track: 'minmax(90px, 2fr)',
      sortable: true,
      cell: (row) => <ProcessCell words={processWords(row)} />,
    },
    {
      id: 'session',
      title: 'Session',
      leastGridPx: 980,
      track: 'minmax(80px, 1fr)',
      sortable: true,
      cell: (row) => row.sessionTitle !== null && <VisibleText text={row.sessionTitle} />,
    },
    {
      id: 'rule',
      title: 'Rule',
      leastGridPx: 980,
      track: 'minmax(112px, 1fr)',
      cell: (row) => <RuleCell row={row} name={ruleName(row)} />,
    },
    {
      id: 'bytes',
      title: 'Bytes',
      leastGridPx: 1_130,
      track: '64px',
      alignEnd: true,
      sortable: true,
      cell: (row) => formatBytes(row.bytesIn + row.bytesOut),
    },
    {
      id: 'duration',
      title: 'Duration',
      leastGridPx: 1_130,
      track: '64px',
      alignEnd: true,
      sortable: true,
      cell: (row) => (row.closedAtMs === undefined ? 'open' : formatSpan(row.closedAtMs - row.openedAtMs)),
    },
    { id: 'act', title: 'What to do', hideTitle: true, track: '148px', alignEnd: true, cell: act },
  ]
  return columns
    .filter((column) => !narrow || !IN_INSPECTOR.has(column.id))
    .map((column) => ({ ...column, cell: (row, isCurrent) => column.cell(current(row), isCurrent) }))
}

/** What was asked for last, where it could be seen. */
function latestExchange({ inspected, detail }: ConnectionView): Exchange | undefined {
  return inspected ? readExchanges(detail).at(-1) : undefined
}

function HostCell({ row }: { row: ConnectionView }): ReactNode {
  const path = latestExchange(row)?.path
  return (
    <>
      <VisibleText code text={hostAndPort(hostName(row.host).shown, row.port)} />
      {path !== undefined && (
        <span className="dim">
          {' '}
          <VisibleText code text={path} />
        </span>
      )}
    </>
  )
}

/** The rule's place is short and can be found again; without one its text, without a rule the reason. */
function RuleCell({ row, name }: { row: ConnectionView; name: string | null }): ReactNode {
  if (name) return <span title={row.ruleText ?? undefined}>{name}</span>
  if (row.ruleText) return <VisibleText code text={row.ruleText} />
  return <span className="dim">{row.reason?.replaceAll('_', ' ')}</span>
}

function ProcessCell({ words }: { words: string | null }): ReactNode {
  return words === null ? <span className="dim">unknown</span> : <VisibleText code text={shorten(words, 120)} />
}
