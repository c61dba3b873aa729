import { constants, fstatSync, openSync } from 'node:fs'

type Entry = 'ignore' | 'pipe' | number

/** Character device 5:2 of Linux, /dev/ptmx. */
const PTMX = 0x502
const isLinux = process.platform === 'linux'

/**
 * The master sides of open terminals. What makes terminals leaves them open for every program that is started
 * later, and whoever has one reads what is printed there and types what he likes; a terminal also counts as in
 * use for as long as anybody has it. No call of Node can change that, so each start sees to it by itself. Only
 * Linux needs it: elsewhere a child is given nothing that it was not meant to have.
 */
const masters = new Set<number>()
let nothing: number | undefined

/** To be called with every master right after it was made. One that is closed is forgotten by itself. */
export function noteMaster(fd: number): void {
  if (isLinux) masters.add(fd)
}

/** The masters that are open now. */
export function openMasters(): number[] {
  for (const fd of masters) if (!isMaster(fd)) masters.delete(fd)
  return [...masters]
}

/**
 * `stdio` for spawn() in which the child finds nothing where it would find a master: `/dev/null` stands there,
 * to be read only. It costs nothing, while closing would take a program in between.
 */
export function withoutMasters<Stdio extends Entry[] | [Entry, Entry, Entry]>(stdio: Stdio): Stdio {
  const open = openMasters().filter((fd) => fd >= stdio.length)
  if (open.length === 0) return stdio
  nothing ??= openSync('/dev/null', constants.O_RDONLY)
  const covered: Entry[] = [...stdio]
  for (let fd = stdio.length; fd <= Math.max(...open); fd++) covered.push(open.includes(fd) ? nothing : 'ignore')
  return covered as Stdio
}

/** The number may be anybody's by now. */
function isMaster(fd: number): boolean {
  try {
    return fstatSync(fd).rdev === PTMX
  } catch {
    return false
  }
}
