/** Connections as CSV (RFC 4180), safe to open in a spreadsheet. */
import type { ConnectionView } from '../../preload/api.ts'
import { verdictOf } from './selectors.ts'

const COLUMNS: readonly [name: string, value: (row: ConnectionView) => string | number | null | undefined][] = [
  ['opened_at', (row) => new Date(row.openedAtMs).toISOString()],
  ['verdict', verdictOf],
  ['host', (row) => row.host],
  ['port', (row) => row.port],
  ['protocol', (row) => row.protocol],
  ['method', (row) => row.method],
  ['address', (row) => row.address],
  ['process', (row) => row.command],
  ['pid', (row) => row.pid],
  ['session', (row) => row.sessionTitle],
  ['rule', (row) => row.ruleText],
  ['reason', (row) => row.reason],
  ['bytes_in', (row) => row.bytesIn],
  ['bytes_out', (row) => row.bytesOut],
  ['duration_ms', (row) => (row.closedAtMs === undefined ? null : row.closedAtMs - row.openedAtMs)],
  ['count', (row) => row.count],
]

export function connectionsAsCsv(rows: readonly ConnectionView[]): string {
  const lines = [COLUMNS.map(([name]) => name).join(',')]
  for (const row of rows) lines.push(COLUMNS.map(([, value]) => csvField(value(row))).join(','))
  return `${lines.join('\r\n')}\r\n`
}

/** A leading `=`, `+`, `-`, `@` or control character would be read as a formula. */
function csvField(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
