import type { FileHandle } from 'node:fs/promises'
import type { AuditRecord } from './audit-event.ts'
import { linesBackwards, listJournal, openForReading } from './journal-files.ts'
import { parseLine, seqAtStart } from './journal-line.ts'

/** Bytes looked at to find the next line's number; a line's start is far shorter. */
const PROBE_BYTES = 16 * 1024
const NEWLINE = 0x0a

/**
 * Records with `seq < before` (all when null), newest first, over all files. Torn and foreign lines are
 * passed over. Deep positions are found by bisection, so a page costs what it shows. Ends early when the
 * consumer stops; a file that vanishes while it is read ends the walk through it.
 */
export async function* recordsBackwards(folder: string, before: number | null): AsyncGenerator<AuditRecord> {
  const files = await listJournal(folder)
  for (const name of files.toReversed()) {
    const file = await openForReading(folder, name)
    if (!file) continue
    try {
      const { size } = await file.stat()
      const end = before === null ? size : await offsetOf(file, size, before)
      for await (const line of linesBackwards(file, end)) {
        const record = parseLine(line)
        if (record && (before === null || record.seq < before)) yield record
      }
    } finally {
      await file.close()
    }
  }
}

/** The number of the newest record on disk; 0 when there is none. */
export async function lastSeq(folder: string): Promise<number> {
  for await (const record of recordsBackwards(folder, null)) return record.seq
  return 0
}

/** A byte offset at the start of a line such that every line with `seq < before` lies in front of it. */
async function offsetOf(file: FileHandle, size: number, before: number): Promise<number> {
  let low = 0
  let high = size
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const next = await nextNumberedLine(file, middle, high)
    if (!next || next.seq >= before) high = middle
    else low = next.start + 1
  }
  return high === size ? size : ((await nextNumberedLine(file, high, size))?.start ?? size)
}

/** The first line that starts at or after `from` and before `limit` and whose number can be read. */
async function nextNumberedLine(
  file: FileHandle,
  from: number,
  limit: number,
): Promise<{ start: number; seq: number } | undefined> {
  let start = from === 0 ? 0 : await afterNewline(file, from - 1, limit)
  while (start !== undefined && start < limit) {
    const probe = Buffer.alloc(32)
    const { bytesRead } = await file.read(probe, 0, probe.length, start)
    const seq = seqAtStart(probe.toString('latin1', 0, bytesRead))
    if (seq !== undefined) return { start, seq }
    start = await afterNewline(file, start, limit)
  }
  return undefined
}

async function afterNewline(file: FileHandle, from: number, limit: number): Promise<number | undefined> {
  const probe = Buffer.alloc(PROBE_BYTES)
  for (let position = from; position < limit; position += PROBE_BYTES) {
    const { bytesRead } = await file.read(probe, 0, PROBE_BYTES, position)
    const newline = probe.subarray(0, bytesRead).indexOf(NEWLINE)
    if (newline >= 0) return position + newline + 1
    if (bytesRead < PROBE_BYTES) return undefined
  }
  return undefined
}
