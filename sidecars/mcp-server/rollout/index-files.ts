/** Brings the index up to date with the files: what is new, what grew, what is gone. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readFirstRecord } from './read-thread.ts'
import { RolloutIndexer, threadFromMeta } from './rollout-indexer.ts'
import { readLines } from './rollout-lines.ts'
import { ARCHIVE_FOLDER, SESSIONS_FOLDER, threadIdOf } from './rollout-path.ts'
import { parseLine } from './rollout-record.ts'
import type { WrittenRecord } from './rollout-writer.ts'
import type { ThreadIndex, ThreadRow } from './thread-index.ts'

export interface IndexFilesOptions {
  home: string
  index: ThreadIndex
  nowMs: () => number
  /** A file that cannot be read; the others go on. */
  onProblem(path: string, error: Error): void
  signal: AbortSignal
}

/** Indexes every file below `home` that the index does not know or knows a part of. */
export async function indexFiles(options: IndexFilesOptions): Promise<void> {
  const known = options.index.indexedFiles()
  const seen = new Set<string>()
  for (const [folder, archived] of [
    [SESSIONS_FOLDER, false],
    [ARCHIVE_FOLDER, true],
  ] as const)
    for await (const path of rolloutFiles(join(options.home, folder))) {
      if (options.signal.aborted) return
      seen.add(path)
      try {
        const { size } = await stat(path)
        if (known.get(path) !== size) await indexFile(path, archived, options)
      } catch (error) {
        options.onProblem(path, error as Error)
      }
    }
  for (const path of known.keys())
    if (!seen.has(path)) {
      const row = options.index.threadAt(path)
      if (row && !(await exists(path))) options.index.remove(row.thread.id)
    }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

async function* rolloutFiles(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  // Newest first: a list is right at the top before the rest is read.
  for (const entry of entries.sort((a, b) => (a.name < b.name ? 1 : -1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* rolloutFiles(path)
    else if (entry.isFile() && threadIdOf(entry.name) !== null) yield path
  }
}

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
  if (!row) {
    const first = await readFirstRecord(path)
    if (first?.type !== 'session_meta' || typeof first.payload.id !== 'string') return null
    row = {
      thread: threadFromMeta(first.payload, path, archived, options.nowMs()),
      turnContext: null,
      extras: null,
      indexedBytes: 0,
      nextOrdinal: 0,
    }
  }
  const indexer = new RolloutIndexer(index, row, options.nowMs)
  for await (const lines of readLines(path, row.indexedBytes)) {
    const written: WrittenRecord[] = []
    let end = row.indexedBytes
    for (const line of lines) {
      if (!line.ended) break
      end = line.offset + line.byteLength + 1
      if (line.text === null) continue
      for (const record of parseLine(line.text).records)
        written.push({ record, offset: line.offset, byteLength: line.byteLength })
    }
    index.transaction(() => indexer.add(written, end))
  }
  return row
}
