/** Reads a whole thread: the files it builds on, then its own. */
import { parseLine, type RolloutRecord } from './rollout-record.ts'
import { readLines } from './rollout-lines.ts'
import type { HistoryBase, StoredThread } from './stored-thread.ts'
import { TurnProjection } from './turn-projection.ts'

/** A chain of forks longer than this is a loop. */
const MAX_BASES = 64

export interface ReadThread {
  projection: TurnProjection
  /** Lines that could not be read, by file and byte offset. */
  damaged: { path: string; offset: number }[]
}

/** Which account of a thread is wanted: what people see, what the model sees, or both. */
export type Wanted = 'turns' | 'history' | 'all'

/**
 * Reads a thread's files. Lines that the wanted account does not need are passed over without parsing:
 * in a long thread that is most of them.
 * @param findPath where the file of a thread (a base) stands; null when it is gone
 */
export async function readThread(
  thread: StoredThread,
  findPath: (base: HistoryBase) => Promise<string | null>,
  wanted: Wanted = 'all',
): Promise<ReadThread> {
  const projection = new TurnProjection()
  const damaged: ReadThread['damaged'] = []
  const into: Target = { projection, damaged, wanted }
  if (thread.base) await readBase(thread.base, findPath, into, 0)
  await readFileInto(thread.path, Number.MAX_SAFE_INTEGER, into)
  return { projection, damaged }
}

async function readBase(
  base: HistoryBase,
  findPath: (base: HistoryBase) => Promise<string | null>,
  into: Target,
  depth: number,
): Promise<void> {
  if (depth > MAX_BASES) throw new Error(`thread ${base.threadId} builds on more than ${MAX_BASES} others`)
  const path = await findPath(base)
  if (path === null) return
  const own = await firstRecordBase(path)
  if (own) await readBase(own, findPath, into, depth + 1)
  await readFileInto(path, base.endOrdinal, into)
}

interface Target {
  projection: TurnProjection
  damaged: ReadThread['damaged']
  wanted: Wanted
}

async function readFileInto(path: string, endOrdinal: number, { projection, damaged, wanted }: Target): Promise<void> {
  for await (const lines of readLines(path))
    for (const line of lines) {
      if (line.text !== null && endOrdinal === Number.MAX_SAFE_INTEGER && isBeside(line.text, wanted)) continue
      const parsed = line.text === null ? { records: [], damaged: true } : parseLine(line.text)
      if (parsed.damaged) damaged.push({ path, offset: line.offset })
      for (const record of parsed.records) {
        if (record.ordinal >= endOrdinal) return
        projection.add(record)
      }
    }
}

const LINE_START = /^\{"timestamp":"[^"]*","ordinal":\d+,"type":"(\w+)","payload":\{"type":"(\w+)"/

/** Whether a line is of no use to the wanted account. Lines that look unusual are always read. */
function isBeside(text: string, wanted: Wanted): boolean {
  if (wanted === 'all') return false
  const [, type, kind] = LINE_START.exec(text) ?? []
  if (wanted === 'turns') return type === 'response_item' || type === 'compacted'
  // The person's messages mark the turns that a rollback counts.
  return type === 'event_msg' && kind === 'item_completed' && !/"type":"[uU]serMessage"/.test(text)
}

/** The base that a file's own `session_meta` names. */
async function firstRecordBase(path: string): Promise<HistoryBase | null> {
  const first = await readFirstRecord(path)
  const base = first?.payload.history_base as Record<string, unknown> | undefined
  if (!base) return null
  return {
    threadId: String(base.thread_id),
    endOrdinal: Number(base.end_ordinal_exclusive),
    endOffset: Number(base.end_byte_offset),
    path: typeof base.path === 'string' ? base.path : null,
  }
}

/** The first readable record of a file, or null. */
export async function readFirstRecord(path: string): Promise<RolloutRecord | null> {
  for await (const lines of readLines(path))
    for (const line of lines) {
      const record = line.text === null ? undefined : parseLine(line.text).records[0]
      if (record) return record
    }
  return null
}
