/**
 * One line of a rollout file: `{timestamp, ordinal, type, payload}` (the layout that Codex CLI 0.171
 * writes, so that its files can be read).
 */
export interface RolloutRecord {
  /** UTC with milliseconds, for people; order comes from the file, never from here. */
  timestamp: string
  ordinal: number
  type: string
  payload: RecordPayload
}
export type RecordPayload = Record<string, unknown>

/** Where a new record usually begins; used to find a whole one behind a torn one on the same line. */
const RECORD_START = '{"timestamp":'

/** The record as one line with its end. */
export function formatRecord(record: RolloutRecord): string {
  return `${JSON.stringify(record)}\n`
}

export interface ParsedLine {
  records: RolloutRecord[]
  /** Part of the line could not be read (a crash in the middle of a write, then more writes). */
  damaged: boolean
}

/**
 * Reads one line. A line that holds a torn record and a whole one behind it (`{"a":1,"te{"timestamp":…}`)
 * gives the whole one.
 */
export function parseLine(line: string): ParsedLine {
  const whole = readRecord(line)
  if (whole) return { records: [whole], damaged: false }
  for (let at = line.indexOf(RECORD_START, 1); at !== -1; at = line.indexOf(RECORD_START, at + 1)) {
    const glued = readRecord(line.slice(at))
    if (glued) {
      const before = readRecord(line.slice(0, at))
      return { records: before ? [before, glued] : [glued], damaged: !before }
    }
  }
  return { records: [], damaged: line.trim() !== '' }
}

function readRecord(text: string): RolloutRecord | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const record = value as Partial<RolloutRecord> | null
  if (typeof record?.type !== 'string' || typeof record.payload !== 'object' || record.payload === null) return null
  return {
    timestamp: typeof record.timestamp === 'string' ? record.timestamp : '',
    ordinal: typeof record.ordinal === 'number' ? record.ordinal : -1,
    type: record.type,
    payload: record.payload,
  }
}
