import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * One folder for every temporary file of a test run, removed at its end: whatever a test leaves behind, or
 * could not remove because it failed, goes with it. Its path is short, since sockets below it may not have
 * paths of more than 107 bytes.
 */
export default function oneTempFolder(): () => void {
  const before = process.env.TMPDIR
  const folder = mkdtempSync(join(tmpdir(), 'gh-'))
  process.env.TMPDIR = folder
  return () => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    // A process that just ended may still be writing its last file.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
