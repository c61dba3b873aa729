/** Brings the index up to date with the files: what is new, what grew, what is gone. */
import { existsSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RolloutIndexer, threadFromMeta } from './rollout-indexer.ts'
import { readLines } from './rollout-lines.ts'
import { ARCHIVE_FOLDER, SESSIONS_FOLDER, threadIdOf } from './rollout-path.ts'
import { parseLine, type RolloutRecord } from './rollout-record.ts'
import type { WrittenRecord } from './rollout-writer.ts'
import type { ThreadIndex, ThreadRow } from './thread-index.ts'

/** Files looked at in one go; about a millisecond, then requests have their turn. */
const SLICE = 200
/** Sorts behind every file name of a folder. */
const BEHIND_ALL = '\u{10ffff}'

export interface IndexFilesOptions {
  home: string
  index: ThreadIndex
  nowMs: () => number
  /** Files that somebody in this process writes and indexes; they are left to him. */
  isOwn(path: string): boolean
  /** A file that cannot be read; the others go on. */
  onProblem(path: string, error: Error): void
  signal: AbortSignal
}

/** Indexes every file below `home` that the index does not know or knows a part of. */
export async function indexFiles(options: IndexFilesOptions): Promise<void> {
  const visited = new Set<string>()
  for (const [name, archived] of [
    [SESSIONS_FOLDER, false],
    [ARCHIVE_FOLDER, true],
  ] as const)
    await visitFolder(join(options.home, name), archived, visited, options)
  await forgetElsewhere(visited, options)
}

async function visitFolder(
  folder: string,
  archived: boolean,
  visited: Set<string>,
  options: IndexFilesOptions,
): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  // Newest first: a list is right at the top before the rest is read.
  entries.sort((a, b) => (a.name < b.name ? 1 : -1))
  const names: string[] = []
  for (const entry of entries) {
    if (entry.isDirectory()) await visitFolder(join(folder, entry.name), archived, visited, options)
    else if (entry.isFile() && threadIdOf(entry.name) !== null) names.push(entry.name)
  }
  // Folders of folders are left to the end, where rows without a file are looked for anyway.
  if (names.length > 0) visited.add(folder)
  for (let start = 0, below = BEHIND_ALL; start < names.length; start += SLICE) {
    if (options.signal.aborted) return
    const slice = names.slice(start, start + SLICE)
    const from = start + SLICE < names.length ? slice.at(-1)! : ''
    await visitSlice(folder, slice, { from, below }, archived, options)
    below = from
    await nextTurn()
  }
}

/** Looks at some files of a folder, and at what the index has between the same two names. */
async function visitSlice(
  folder: string,
  names: readonly string[],
  between: { from: string; below: string },
  archived: boolean,
  options: IndexFilesOptions,
): Promise<void> {
  const known = options.index.filesBetween(`${folder}/${between.from}`, `${folder}/${between.below}`)
  for (const name of names) {
    const path = join(folder, name)
    const bytes = known.get(path)
    known.delete(path)
    try {
      if (options.isOwn(path) || statSync(path).size === bytes) continue
      if (options.signal.aborted) return
      await indexFile(path, archived, options)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') options.onProblem(path, error as Error)
    }
  }
  // Paths of folders below this one sort between its files.
  for (const path of known.keys()) if (dirname(path) === folder) forgetIfGone(path, options.index)
}

/** Rows of folders that are no longer there. */
async function forgetElsewhere(visited: ReadonlySet<string>, { index, signal }: IndexFilesOptions): Promise<void> {
  for (let after = ''; !signal.aborted; await nextTurn()) {
    const paths = index.pathsAfter(after, SLICE)
    for (const path of paths) if (!visited.has(dirname(path))) forgetIfGone(path, index)
    if (paths.length < SLICE) return
    after = paths.at(-1)!
  }
}

function forgetIfGone(path: string, index: ThreadIndex): void {
  if (existsSync(path)) return
  const row = index.threadAt(path)
  if (row) index.remove(row.thread.id)
}

const isElsewhere = ({ thread }: ThreadRow, path: string): boolean => thread.path !== path && existsSync(thread.path)

/**
 * Reads a file from where the index stopped and returns the thread's row; null when the file has no
 * readable first record. A last line without its end is left for later.
 */
export async function indexFile(
  path: string,
  archived: boolean,
  options: Pick<IndexFilesOptions, 'index' | 'nowMs'>,
): Promise<ThreadRow | null> {
  const { index } = options
  let row = index.threadAt(path)
  if (row && statSync(path).size === row.indexedBytes) return row
  let indexer = row && new RolloutIndexer(index, row, options.nowMs)
  for await (const lines of readLines(path, row?.indexedBytes ?? 0)) {
    const written: WrittenRecord[] = []
    let end = row?.indexedBytes ?? 0
    for (const line of lines) {
      if (!line.ended) break
      end = line.offset + line.byteLength + 1
      if (line.text === null) continue
      for (const record of parseLine(line.text).records)
        written.push({ record, offset: line.offset, byteLength: line.byteLength })
    }
    if (!row || !indexer) {
      if (written.length === 0) continue
      row = newRow(written[0]!.record, path, archived, options.nowMs)
      if (!row) return null
      indexer = new RolloutIndexer(index, row, options.nowMs)
    }
    const { thread } = row
    const writer = indexer
    const bytesBefore = row.indexedBytes
    let overtaken = false
    index.transaction(() => {
      const now = index.thread(thread.id)
      // Whoever writes the thread, here or in another process, indexes it too; it may also be moved or deleted.
      overtaken = !existsSync(path) || (now !== null && (now.indexedBytes > bytesBefore || isElsewhere(now, path)))
      if (!overtaken) writer.add(written, end)
    })
    if (overtaken) return index.threadAt(path)
  }
  return row
}

/** The row of a file that is not in the index; null when it does not begin as a thread's file does. */
function newRow(first: RolloutRecord, path: string, archived: boolean, nowMs: () => number): ThreadRow | null {
  if (first.type !== 'session_meta' || typeof first.payload.id !== 'string') return null
  return {
    thread: threadFromMeta(first.payload, path, archived, nowMs()),
    turnContext: null,
    extras: null,
    indexedBytes: 0,
    nextOrdinal: 0,
  }
}
