/** Paths of several projects that a few typed letters could mean, best first. */
import { basename } from 'node:path'
import { fuzzyMatch } from './fuzzy-match.ts'
import type { ListedPath } from './list-files.ts'

/** As the app-server protocol has it. */
export interface FoundFile {
  root: string
  path: string
  match_type: 'file' | 'directory'
  file_name: string
  score: number
  indices: number[]
}
export interface ListedRoot {
  root: string
  paths: readonly ListedPath[]
}

const MAX_RESULTS = 50
/** Other work gets its turn after so many paths. */
const SLICE = 5000

/** Ends early with what it has when the signal fires. Nothing for an empty query. */
export async function searchFiles(
  roots: readonly ListedRoot[],
  query: string,
  signal: AbortSignal,
): Promise<FoundFile[]> {
  const wanted = query.replaceAll(/\s+/g, '')
  if (wanted === '') return []
  const found: FoundFile[] = []
  let count = 0
  for (const { root, paths } of roots)
    for (const { path, kind } of paths) {
      if (++count % SLICE === 0) {
        await new Promise((resolve) => setImmediate(resolve))
        if (signal.aborted) return found
      }
      const match = fuzzyMatch(path, wanted)
      if (match) found.push({ root, path, match_type: kind, file_name: basename(path), ...match })
    }
  return found.sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1)).slice(0, MAX_RESULTS)
}
