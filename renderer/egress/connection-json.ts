/** Connections as JSON: what the table and the inspector show, in stable names. */
import type { ConnectionView } from '../../preload/api.ts'
import { readExchanges } from './exchanges.ts'
import { verdictOf } from './selectors.ts'

export function connectionsAsJson(rows: readonly ConnectionView[], exportedAtMs: number): string {
  // A line for each: small enough for very many, and still to be read and compared.
  const lines = rows.map((row) => JSON.stringify(connectionObject(row)))
  return `{"exportedAt":"${new Date(exportedAtMs).toISOString()}","connections":[\n${lines.join(',\n')}\n]}\n`
}

function connectionObject(row: ConnectionView): Record<string, unknown> {
  const exchanges = readExchanges(row.detail)
  return {
    id: row.id,
    openedAt: new Date(row.openedAtMs).toISOString(),
    closedAt: row.closedAtMs === undefined ? null : new Date(row.closedAtMs).toISOString(),
    verdict: verdictOf(row),
    host: row.host,
    port: row.port,
    protocol: row.protocol,
    method: row.method ?? null,
    address: row.address ?? null,
    reason: row.reason ?? null,
    rule: row.ruleText,
    process: row.command,
    pid: row.pid,
    session: row.sessionTitle,
    bytesIn: row.bytesIn,
    bytesOut: row.bytesOut,
    count: row.count,
    inspected: row.inspected,
    ...(exchanges.length > 0 && { exchanges }),
  }
}
