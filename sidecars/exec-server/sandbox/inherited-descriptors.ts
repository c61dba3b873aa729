import { readdirSync, readFileSync } from 'node:fs'

/** O_CLOEXEC as fdinfo writes it, on every Linux. */
const CLOSE_ON_EXEC = 0o2000000

/**
 * Descriptors beyond the standard ones that a child started now would get: what whoever started us left
 * open, and the terminals of other commands, which are opened without the flag. Each is a way around every
 * wall: what is written to a terminal's descriptor is typed into it.
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
