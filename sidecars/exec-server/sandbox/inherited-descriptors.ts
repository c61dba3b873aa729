import { readdirSync, readFileSync } from 'node:fs'

/** O_CLOEXEC as fdinfo writes it, on every Linux. */
const CLOSE_ON_EXEC = 0o2000000

/**
 * Descriptors beyond the standard ones that every child of ours would get, since whoever started us left
 * them open: an open file or socket is a way around every wall. Node closes its own in children, so it is
 * enough to look once.
 */
export function inheritedDescriptors(): number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((fd) => fd > 2 && isInherited(fd))
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  } catch {
    // The one with which the folder was read.
    return false
  }
}
