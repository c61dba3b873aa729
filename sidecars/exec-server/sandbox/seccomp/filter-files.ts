import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemCallFilter, type SocketReach } from './filter.ts'
import type { Machine } from './system-calls.ts'

/** The filters as files, since bwrap reads them from a descriptor to its end. */
export class FilterFiles {
  private readonly paths = new Map<SocketReach, string>()

  constructor(
    /** Existing private folder. */
    private readonly folder: string,
    private readonly machine: Machine,
  ) {}

  pathOf(sockets: SocketReach): string {
    const known = this.paths.get(sockets)
    if (known !== undefined) return known
    const path = join(this.folder, `filter-${sockets}`)
    writeFileSync(path, systemCallFilter(this.machine, sockets), { mode: 0o600 })
    this.paths.set(sockets, path)
    return path
  }
}
