import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/**
 * A process that cannot be confused with a later one of the same pid: the pid together with its start
 * time. `startedAt` is opaque text; equal text means the same start.
 */
export interface ProcessIdentity {
  pid: number
  startedAt: string
}

/** One line of the process table. */
export interface ProcessEntry extends ProcessIdentity {
  ppid: number
  pgid: number
  sessionId: number
}

const run = promisify(execFile)

/** All live processes this user can see; zombies are gone already and left out. */
export async function readProcessTable(): Promise<ProcessEntry[]> {
  return process.platform === 'linux' ? readProcTable() : parsePsTable(await ps(['-ax']))
}

/** The identity of a live process, or undefined when there is none (a zombie counts as none). */
export async function readProcessIdentity(pid: number): Promise<ProcessIdentity | undefined> {
  const entry =
    process.platform === 'linux'
      ? readProcEntry(pid)
      : parsePsTable(await ps(['-p', String(pid)])).find((row) => row.pid === pid)
  return entry && { pid: entry.pid, startedAt: entry.startedAt }
}

/** True while exactly this process lives. */
export async function isSameProcess(identity: ProcessIdentity): Promise<boolean> {
  return (await readProcessIdentity(identity.pid))?.startedAt === identity.startedAt
}

/**
 * Signals exactly this process, with `wholeGroup` every member of the group it leads. The identity is
 * read right before. Returns false when it is gone or is not ours to signal.
 */
export async function signalProcess(
  identity: ProcessIdentity,
  signal: NodeJS.Signals,
  wholeGroup = false,
): Promise<boolean> {
  if (!(await isSameProcess(identity))) return false
  try {
    process.kill(wholeGroup ? -identity.pid : identity.pid, signal)
    return true
  } catch {
    // ESRCH: it ended, or leads no group; EPERM: another user's process has that pid now.
    return false
  }
}

/** Everything below `pid` by parentage, nearest first; `pid` itself is not included. */
export function descendantsOf(pid: number, table: readonly ProcessEntry[]): ProcessEntry[] {
  const found: ProcessEntry[] = []
  let parents = new Set([pid])
  while (parents.size > 0) {
    const children = table.filter((entry) => parents.has(entry.ppid) && !found.includes(entry))
    found.push(...children)
    parents = new Set(children.map((entry) => entry.pid))
  }
  return found
}

function readProcTable(): ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcEntry(Number(name)) ?? [])
}

function readProcEntry(pid: number): ProcessEntry | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // It ended between two looks.
    return undefined
  }
  // proc(5): the name in parentheses may hold spaces and parentheses, so count from the last one;
  // what follows is field 3 (state), 4 ppid, 5 pgrp, 6 session, … 22 start time in clock ticks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, ppid, pgid, sessionId] = fields
  const startTicks = fields[19]
  if (state === undefined || 'ZXx'.includes(state) || startTicks === undefined) return undefined
  return {
    pid,
    ppid: Number(ppid),
    pgid: Number(pgid),
    sessionId: Number(sessionId),
    startedAt: `${bootId()}:${startTicks}`,
  }
}

let cachedBootId: string | undefined
/** Ticks count from boot, so the boot belongs to the start time. */
function bootId(): string {
  try {
    cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    cachedBootId = 'boot'
  }
  return cachedBootId
}

/** `lstart` has a resolution of one second, which is what macOS offers without native code. */
async function ps(which: string[]): Promise<string> {
  const columns = ['-o', 'pid=,ppid=,pgid=,sess=,stat=,lstart=']
  const env = { PATH: process.env.PATH ?? '/bin:/usr/bin', LC_ALL: 'C' }
  // ps exits with 1 when nothing matches.
  const { stdout } = await run('ps', [...which, ...columns], { env, maxBuffer: 16 * 1024 * 1024 }).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  )
  return stdout
}

/** Reads the columns that `ps` above prints; exported for its test. */
export function parsePsTable(text: string): ProcessEntry[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line)
    if (!match || match[5]?.startsWith('Z')) return []
    const [, pid, ppid, pgid, session, , startedAt] = match
    return [
      {
        pid: Number(pid),
        ppid: Number(ppid),
        pgid: Number(pgid),
        // macOS prints the session as an address, 0 for most; only Linux's number is a pid.
        sessionId: Number(session) || 0,
        startedAt: startedAt ?? '',
      },
    ]
  })
}
