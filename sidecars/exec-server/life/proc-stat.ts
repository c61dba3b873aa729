import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'

/** What /proc says about one process. Linux only. */
export interface ProcStat {
  pid: number
  name: string
  /** One letter: R running, S sleeping, T stopped, … */
  state: string
  ppid: number
  pgid: number
  sessionId: number
  /** Foreground process group of its terminal, -1 without one. */
  foregroundGroup: number
  cpuMs: number
  rssPages: number
  /** Clock ticks since boot: together with the pid it names one process for good. */
  startTicks: string
}

/** USER_HZ is 100 on every Linux that Node runs on. */
const MS_PER_TICK = 10

/** Undefined when there is no such process, or only its zombie. */
export function readProcStat(pid: number): ProcStat | undefined {
  const text = readSmallFile(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // proc(5): the name stands in parentheses and may hold any character, so count from the last one.
  const end = text.lastIndexOf(')')
  const fields = text.slice(end + 2).split(' ')
  const field = (number: number) => fields[number - 3] ?? ''
  const state = field(3)
  if ('ZXx'.includes(state)) return undefined
  return {
    pid,
    name: text.slice(text.indexOf('(') + 1, end),
    state,
    ppid: Number(field(4)),
    pgid: Number(field(5)),
    sessionId: Number(field(6)),
    foregroundGroup: Number(field(8)),
    cpuMs: (Number(field(14)) + Number(field(15))) * MS_PER_TICK,
    rssPages: Number(field(24)),
    startTicks: field(22),
  }
}

/** A line of /proc is far shorter; memory of our own saves a large buffer per process and look. */
const scratch = Buffer.allocUnsafeSlow(4_096)

function readSmallFile(path: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, 'r')
    return scratch.toString('latin1', 0, readSync(fd, scratch))
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

let knownPageBytes: number | undefined
/** Size of a memory page, told from what Node and /proc say about this very process. */
export function pageBytes(): number {
  knownPageBytes ??= 2 ** Math.round(Math.log2(process.memoryUsage.rss() / (readProcStat(process.pid)?.rssPages || 1)))
  return knownPageBytes
}

/** Several who ask in the same moment share one look at everything. */
const SHARED_MS = 5
let shared: { atMs: number; stats: readonly ProcStat[] } | undefined

/** Every live process that can be seen. */
export function readProcStats(): readonly ProcStat[] {
  const nowMs = performance.now()
  if (!shared || nowMs - shared.atMs > SHARED_MS) shared = { stats: readEveryProcStat(), atMs: performance.now() }
  return shared.stats
}

function readEveryProcStat(): ProcStat[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcStat(Number(name)) ?? []) : []))
}

/** Pids of the children of one process, without looking at all others; empty when it has ended. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
        .split(' ')
        .filter((text) => text !== '')
        .map(Number),
    )
  } catch {
    return []
  }
}

/** The value of a variable in the environment that a process was started with. */
export function startedWith(pid: number, variable: string): string | undefined {
  try {
    const prefix = `${variable}=`
    const found = readFileSync(`/proc/${pid}/environ`, 'latin1')
      .split('\0')
      .find((entry) => entry.startsWith(prefix))
    return found?.slice(prefix.length)
  } catch {
    // Gone, or another user's.
    return undefined
  }
}

/**
 * Pids of processes that have one of these files open; looks at every descriptor there is. Our own
 * children are left out: between fork and exec a child has everything open that we have.
 */
export function holdersOf(paths: readonly string[]): number[] {
  return readProcStats()
    .filter(({ pid, ppid }) => pid !== process.pid && ppid !== process.pid && hasOpen(pid, paths))
    .map(({ pid }) => pid)
}

function hasOpen(pid: number, paths: readonly string[]): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => paths.includes(linkOf(`/proc/${pid}/fd/${fd}`)))
  } catch {
    // Gone, or another user's.
    return false
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
