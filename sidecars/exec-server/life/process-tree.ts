import type { ProcessMember } from '../../protocol/host-channel.ts'
import { readProcessTable } from '../../rpc/process-identity.ts'
import { childrenOf, pageBytes, readProcStat, readProcStats, startedWith, type ProcStat } from './proc-stat.ts'

/** Names the process of ours that a program belongs to; inherited by everything it starts. */
export const MARKER_VARIABLE = 'GATEHOUSE_PROCESS_ID'

const isLinux = process.platform === 'linux'

/**
 * Everything that one started program has brought into the world, also what has left its process group
 * (`setsid`) or lost its parent. Found by parentage, group, session, marker, and by having been seen as
 * a descendant before.
 */
export class ProcessTree {
  /** Seen as members at some time, with their start. */
  private readonly seen = new Map<number, string>()
  private rootStart: string | undefined
  private isRootOver = false
  private isGroupOver = false

  constructor(
    /** Leads its own group and session. */
    readonly rootPid: number,
    /** The value of {@link MARKER_VARIABLE} it was started with; undefined when it got none. */
    private readonly marker: string | undefined,
  ) {}

  /** Start of the root; undefined until it is known, and for one that nobody looked at while it lived. */
  get startTicks(): string | undefined {
    return this.rootStart
  }

  /** To be called while the root lives: until it is reaped its pid cannot be anybody else's. */
  identify(): void {
    if (isLinux && !this.isRootOver) this.rootStart ??= readProcStat(this.rootPid)?.startTicks
  }

  /** The root has been reaped: its pid may be somebody else's from now on. */
  rootEnded(): void {
    this.isRootOver = true
  }

  /** The group was seen empty after the root's end: its number may be somebody else's from now on. */
  groupEnded(): void {
    this.isGroupOver = true
  }

  /**
   * Remembers the descendants of this moment; cheap. To be called before anything is killed: a parent's
   * end cuts the line to its children. True when there were some that had not been seen.
   */
  look(): boolean {
    if (!isLinux) return false
    this.identify()
    const seenBefore = this.seen.size
    const waiting = this.isRootOver ? [...this.seen.keys()] : [this.rootPid, ...this.seen.keys()]
    for (const pid of waiting)
      for (const child of childrenOf(pid)) {
        if (this.seen.has(child) || child === this.rootPid) continue
        const stat = readProcStat(child)
        if (!stat) continue
        this.seen.set(child, stat.startTicks)
        waiting.push(child)
      }
    return this.seen.size > seenBefore
  }

  /** Every live member, the root first. */
  async members(): Promise<ProcessMember[]> {
    if (!isLinux) return this.membersByTable()
    const all = readProcStats()
    const isPidTaken = all.some(({ pid }) => pid === this.rootPid)
    const members = new Map<number, ProcStat>()
    for (const stat of all) if (this.belongs(stat, isPidTaken)) members.set(stat.pid, stat)
    for (let before = -1; before !== members.size;) {
      before = members.size
      for (const stat of all) if (members.has(stat.ppid) && stat.pid !== process.pid) members.set(stat.pid, stat)
    }
    for (const { pid, startTicks } of members.values()) if (pid !== this.rootPid) this.seen.set(pid, startTicks)
    return [...members.values()]
      .sort((a, b) => Number(b.pid === this.rootPid) - Number(a.pid === this.rootPid) || a.pid - b.pid)
      .map(({ pid, ppid, name, cpuMs, rssPages, pgid }) => ({
        pid,
        ppid,
        name,
        cpuMs,
        rssBytes: rssPages * pageBytes(),
        ownGroup: pgid === this.rootPid,
      }))
  }

  /** Those seen so far that live outside the group, with their start. */
  strays(): { pid: number; startTicks: string }[] {
    const strays: { pid: number; startTicks: string }[] = []
    for (const [pid, startTicks] of this.seen) {
      const stat = readProcStat(pid)
      if (stat?.startTicks !== startTicks) this.seen.delete(pid)
      else if (stat.pgid !== this.rootPid) strays.push({ pid, startTicks })
    }
    return strays
  }

  private belongs(stat: ProcStat, isPidTaken: boolean): boolean {
    if (this.seen.get(stat.pid) === stat.startTicks) return true
    // A terminal's child leads its group only a moment after it was made.
    if (stat.pid === this.rootPid) return !this.isRootOver
    // The number of a group stays taken while it lives: a new process of that pid means a new group.
    if (!this.isGroupOver && (stat.pgid === this.rootPid || stat.sessionId === this.rootPid))
      return !this.isRootOver || !isPidTaken
    return this.marker !== undefined && startedWith(stat.pid, MARKER_VARIABLE) === this.marker
  }

  private async membersByTable(): Promise<ProcessMember[]> {
    const table = await readProcessTable()
    const pids = new Set(this.isGroupOver ? [] : [this.rootPid])
    for (let before = -1; before !== pids.size;) {
      before = pids.size
      for (const { pid, ppid, pgid } of table)
        if (pids.has(ppid) || (!this.isGroupOver && pgid === this.rootPid)) pids.add(pid)
    }
    return table
      .filter(({ pid }) => pids.has(pid))
      .map(({ pid, ppid, pgid }) => ({
        pid,
        ppid,
        name: '',
        cpuMs: 0,
        rssBytes: 0,
        ownGroup: pgid === this.rootPid,
      }))
  }
}
