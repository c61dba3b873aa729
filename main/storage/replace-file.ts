import { randomBytes } from 'node:crypto'
import { open, realpath, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Puts `text` in the place of a file, whole or not at all: a crash, a full disk or a folder without
 * write permission leaves the old content. A symbolic link stays a link. The new file is on disk when
 * the promise resolves. Rejects with the file system's error; nothing is left lying about then.
 */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const side = `${target}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    const file = await open(side, 'wx', mode)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(side, target)
  } catch (error) {
    await unlink(side).catch(() => {
      // It was never made, or was renamed; the first error is the one that counts.
    })
    throw error
  }
  await syncFolder(dirname(target))
}

/** Makes a rename or a new name in `folder` survive a power cut, where the system can do that. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch {
    // Windows cannot open a folder; the rename itself was fine.
  }
}
