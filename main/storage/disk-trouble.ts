import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

const SENTENCES: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file has reached the size limit',
  EROFS: 'the file system is read-only',
  EACCES: 'permission is missing',
  EPERM: 'the operation is not permitted',
  EISDIR: 'it is a folder, not a file',
  ENOTDIR: 'a part of its path is not a folder',
  ELOOP: 'its symbolic links go in a circle',
  EIO: 'the disk reported an error',
  EMFILE: 'too many files are open',
}

/** What is wrong with a file, in one clause for people: the cause, its code, and the free space where that matters. */
export async function describeDiskTrouble(error: unknown, path: string): Promise<string> {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const cause = SENTENCES[code] ?? (error instanceof Error ? error.message : String(error))
  const named = code === '' || !(code in SENTENCES) ? cause : `${cause} (${code})`
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return named
  const space = await freeSpace(dirname(path))
  return space === undefined ? named : `${named}; ${space} free on the file system of ${dirname(path)}`
}

async function freeSpace(folder: string): Promise<string | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return `${Math.round((bavail * bsize) / 1_000_000).toLocaleString('en')} MB`
  } catch {
    return undefined
  }
}
