import { accessSync, constants, mkdtempSync, openSync, rmSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** In memory. A sandboxed command has another one of its own. */
const SHARED_MEMORY = '/dev/shm'

/**
 * Short texts that are handed to another program in a descriptor or a file, because they hold secrets
 * that a command line would show to everybody.
 */
export class HandedOver {
  private folder: string | undefined
  private made = 0

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

  /** A file that whoever reads it removes; {@link dispose} removes those that nobody has read. */
  asFile(bytes: Buffer): string {
    const path = this.newPath()
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' })
    return path
  }

  dispose(): void {
    if (this.folder !== undefined && this.folder !== this.fallback)
      rmSync(this.folder, { recursive: true, force: true })
    this.folder = undefined
  }

  private newPath(): string {
    this.folder ??= inMemory() ?? this.fallback
    return join(this.folder, `handed-over-${this.made++}`)
  }
}

function inMemory(): string | undefined {
  try {
    accessSync(SHARED_MEMORY, constants.W_OK)
    return mkdtempSync(`${SHARED_MEMORY}/gatehouse-`)
  } catch {
    return undefined
  }
}
