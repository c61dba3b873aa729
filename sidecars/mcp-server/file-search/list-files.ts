/** The files and folders of a project, as far as somebody would mention them. */
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

export interface ListedPath {
  /** Relative to the root. */
  path: string
  kind: 'file' | 'directory'
}

/** A project with more files is listed up to here. */
const MAX_PATHS = 200_000
const MAX_LISTING_BYTES = 64 * 1024 * 1024
/** Never entered where git cannot say what is ignored. */
const SKIPPED = new Set(['.git', 'node_modules'])

/**
 * What git tracks and does not ignore; without git, everything but hidden folders' inner life. Never
 * rejects: what cannot be read is not listed.
 */
export async function listFiles(root: string, signal: AbortSignal): Promise<ListedPath[]> {
  const files = (await gitFiles(root, signal)) ?? (await walk(root, signal))
  const folders = new Set<string>()
  for (const file of files)
    for (let at = file.lastIndexOf('/'); at > 0; at = file.lastIndexOf('/', at - 1)) {
      const folder = file.slice(0, at)
      if (folders.has(folder)) break
      folders.add(folder)
    }
  return [
    ...files.map((path) => ({ path, kind: 'file' as const })),
    ...[...folders].map((path) => ({ path, kind: 'directory' as const })),
  ]
}

/** Null outside of a repository or without git. The repository's file system monitor is left out: it is a program. */
function gitFiles(root: string, signal: AbortSignal): Promise<string[] | null> {
  const args = ['-c', 'core.fsmonitor=false', 'ls-files', '--cached', '--others', '--exclude-standard', '-z']
  return new Promise((resolve) => {
    execFile('git', args, { cwd: root, signal, maxBuffer: MAX_LISTING_BYTES, encoding: 'utf8' }, (error, stdout) =>
      resolve(error ? null : [...new Set(stdout.split('\0').filter(Boolean))].slice(0, MAX_PATHS)),
    )
  })
}

async function walk(root: string, signal: AbortSignal): Promise<string[]> {
  const files: string[] = []
  const folders = [root]
  for (let folder = folders.shift(); folder !== undefined && !signal.aborted; folder = folders.shift()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        if (!SKIPPED.has(entry.name)) folders.push(path)
      } else if (files.push(relative(root, path).split(sep).join('/')) >= MAX_PATHS) return files
    }
  }
  return files
}
