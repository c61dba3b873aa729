import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** O_CLOEXEC as fdinfo writes it, on every Linux. */
const CLOSE_ON_EXEC = 0o2000000
/** What the kernel gives a number of its own, or what nobody can be harmed by: looked at once. */
const LASTING = /^(?:socket:|pipe:|anon_inode:)/

/** Answers for what can only be one and the same thing, by descriptor and target. */
const known = new Map<string, boolean>()
const MAX_KNOWN = 1_000

/**
 * Descriptors beyond the standard ones that a child started now would get: what whoever started us left
 * open, and the terminals of other commands, which are opened without the flag. Each is a way around every
 * wall: what is written to a terminal's descriptor is typed into it.
 */
export function inheritedDescriptors(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && isInherited(fd))
}

function isInherited(fd: number): boolean {
  try {
    const target = readlinkSync(`/proc/self/fd/${fd}`)
    if (!LASTING.test(target)) return isKeptOnExec(fd)
    const key = `${fd} ${target}`
    const before = known.get(key)
    if (before !== undefined) return before
    if (known.size >= MAX_KNOWN) known.clear()
    const answer = isKeptOnExec(fd)
    known.set(key, answer)
    return answer
  } catch {
    // The one with which the folder was read.
    return false
  }
}

/** @throws an error with the system's code when it is closed */
function isKeptOnExec(fd: number): boolean {
  const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1]
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
}
