import { randomBytes } from 'node:crypto'
import { accessSync, constants, openSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** In memory. A sandboxed command has another one of its own. */
const SHARED_MEMORY = '/dev/shm'

/**
 * Short texts that are handed to another program in a descriptor or a file, because they hold secrets
 * that a command line would show to everybody.
 */
export class HandedOver {
  private folder: string | undefined

  constructor(
    /** Existing private folder, for machines without shared memory. */
    private readonly fallback: string,
  ) {}

  /** A descriptor from which `bytes` can be read from the start, and that has no name. Closed by the caller. */
  asDescriptor(bytes: Buffer): number {
    const path = this.newPath()
    const fd = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
    // With a position, so that the reader's own starts at the first byte.
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, at)
    return fd
  }

  /** A file that whoever reads it removes; the caller sees to it that it is gone in the end. */
  asFile(bytes: Buffer): string {
    const path = this.newPath()
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' })
    return path
  }

  /** Others may write to shared memory, too: nobody can guess the name, and an existing one is refused. */
  private newPath(): string {
    this.folder ??= isWritable(SHARED_MEMORY) ? SHARED_MEMORY : this.fallback
    return join(this.folder, `gatehouse-${randomBytes(12).toString('hex')}`)
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
