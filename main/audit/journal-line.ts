import type { AuditEvent, AuditRecord } from './audit-event.ts'

/** Everything of a line after the sequence number, which is only final when the line is written. */
export function formatBody(event: AuditEvent, atMs: number): string {
  return `,"at":${JSON.stringify(new Date(atMs).toISOString())},${JSON.stringify(event).slice(1)}\n`
}

/** One line, line end included. Each begins with its `seq`, so that one glued to a torn line can be told. */
export const formatLine = (seq: number, body: string): string => `{"seq":${seq}${body}`

const START = '{"seq":'

/**
 * Reads one line. A whole record behind a torn one on the same line is found; what is torn gives
 * `undefined`. Unknown kinds (a newer version's) are passed on as they are.
 */
export function parseLine(line: string): AuditRecord | undefined {
  return parseRecord(line) ?? parseRecord(line.slice(Math.max(1, line.lastIndexOf(START))))
}

function parseRecord(text: string): AuditRecord | undefined {
  if (!text.startsWith(START)) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const { at, ...rest } = value as { at?: unknown; seq?: unknown; kind?: unknown }
  if (!Number.isSafeInteger(rest.seq) || typeof rest.kind !== 'string') return undefined
  const atMs = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return { ...rest, atMs: Number.isNaN(atMs) ? 0 : atMs } as AuditRecord
}

/** The sequence number at the start of a line of which only the beginning was read. */
export function seqAtStart(text: string): number | undefined {
  const match = /^\{"seq":(\d{1,15})[,}]/.exec(text)
  return match ? Number(match[1]) : undefined
}
