import { rename } from 'node:fs/promises'

/** A time as it stands in the names of kept files: sortable, without characters a file system minds. */
export function fileStamp(atMs: number): string {
  return new Date(atMs).toISOString().replaceAll(/[-:]/g, '').replace('.', '')
}

/**
 * Moves a file that cannot be read as what it should be to `<path>.corrupt-<time>`, bytes untouched.
 * Resolves with the new path.
 */
export async function keepAside(path: string, atMs = Date.now()): Promise<string> {
  const aside = `${path}.corrupt-${fileStamp(atMs)}`
  await rename(path, aside)
  return aside
}
