import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Covers } from './bubblewrap-arguments.ts'

/** Makes what covers hidden and vacant places, in an existing private folder. */
export function makeCovers(folder: string): Covers {
  const covers: Covers = {
    hiddenFile: join(folder, 'hidden-file'),
    hiddenFolder: join(folder, 'hidden-folder'),
    emptyFolder: join(folder, 'empty-folder'),
  }
  writeFileSync(covers.hiddenFile, '', { mode: 0o000 })
  for (const [path, mode] of [
    [covers.hiddenFolder, 0o000],
    [covers.emptyFolder, 0o555],
  ] as const) {
    mkdirSync(path)
    // Whatever the umask is.
    chmodSync(path, mode)
  }
  return covers
}
