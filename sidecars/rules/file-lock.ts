import { open, readFile, stat, unlink } from 'node:fs/promises'

/** A holder that is slower than this has died with its pid reused, or hangs. */
const STALE_MS = 30_000
const POLL_MS = 25

/**
 * Runs `work` while no other process holds `path`, a file that exists only meanwhile. A lock whose holder
 * is gone is taken over. Rejects after `waitMs` naming the holder.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>, waitMs = 5_000): Promise<T> {
  const giveUpAtMs = Date.now() + waitMs
  while (!(await take(path))) {
    if (await isStale(path)) await unlink(path).catch(() => {})
    else if (Date.now() > giveUpAtMs) throw new Error(`${path} is held by process ${await holderOf(path)}`)
    else await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  try {
    return await work()
  } finally {
    await unlink(path).catch(() => {
      // Somebody who thought us dead took it over; it is theirs now.
    })
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(String(process.pid))
    } catch (error) {
      // On a full disk the name is there and the holder is not: nobody would be known to have gone.
      await unlink(path).catch(() => {})
      throw error
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function isStale(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return false
  if (Date.now() - found.mtimeMs > STALE_MS) return true
  const holder = Number(await holderOf(path))
  if (!Number.isInteger(holder) || holder < 1) return false
  try {
    process.kill(holder, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

const holderOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => 'unknown')
