import { fileURLToPath } from 'node:url'

/** A stored path, which may be a `file:` URI or native already. An unreadable URI is shown as it is. */
export function pathFromUri(stored: string): string {
  if (!stored.startsWith('file:')) return stored
  try {
    return fileURLToPath(stored)
  } catch {
    return stored
  }
}
