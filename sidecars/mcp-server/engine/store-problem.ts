/** Why a session cannot be stored, in words that tell a person what to do. */
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

const UNIT_BYTES = 1024 * 1024

/**
 * Names the file system's own reason, the file, and how much room is left where it stands. Never rejects:
 * a part that cannot be found out is left out.
 */
export async function storeProblem(error: unknown, path: string): Promise<string> {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return message
  const free = await freeBytes(path)
  const room = free === null ? '' : `; ${Math.floor(free / UNIT_BYTES)} MiB are free there`
  return `${reasonOf(code) ?? message} (${path}${room})`
}

function reasonOf(code: string | undefined): string | null {
  switch (code) {
    case 'ENOSPC':
      return 'the disk is full'
    case 'EDQUOT':
      return 'the disk quota is used up'
    case 'EFBIG':
      return 'the file has reached the size limit of this system'
    case 'EROFS':
      return 'the file system is read-only'
    case 'EACCES':
    case 'EPERM':
      return 'the folder may not be written to'
    default:
      return null
  }
}

/** The file may not be there yet: the nearest folder above it counts. */
async function freeBytes(path: string): Promise<number | null> {
  for (let at = path; ; at = dirname(at)) {
    try {
      const { bavail, bsize } = await statfs(at)
      return bavail * bsize
    } catch {
      if (dirname(at) === at) return null
    }
  }
}
