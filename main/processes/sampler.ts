import type { ProcessMember } from '../../sidecars/protocol/host-channel.ts'
import type { ProcessId } from '../../sidecars/protocol/ids.ts'
import type { ProcessUsage } from './process-view.ts'

const INTERVAL_MS = 2_000
/** Reading a process tree costs a few milliseconds; beyond this many only the newest are looked at. */
const MOST_SAMPLED = 32

export interface SamplerOptions {
  /** Ids to look at now; empty while nobody watches. */
  wanted(): ProcessId[]
  members(id: ProcessId): Promise<ProcessMember[]>
  report(id: ProcessId, usage: ProcessUsage): void
  now?: () => number
}

/** Measures what running processes use, all of a tree together, while somebody looks. */
export class Sampler {
  private readonly before = new Map<ProcessId, { cpuMs: number; atMs: number }>()
  private timer: NodeJS.Timeout | undefined
  private readonly now: () => number

  constructor(private readonly options: SamplerOptions) {
    this.now = options.now ?? (() => performance.now())
  }

  start(): void {
    this.timer ??= setTimeout(() => void this.tick(), INTERVAL_MS)
    this.timer.unref()
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  /** One round; public for whoever needs figures at once. */
  async sample(): Promise<void> {
    const ids = this.options.wanted().slice(-MOST_SAMPLED)
    for (const id of this.before.keys()) if (!ids.includes(id)) this.before.delete(id)
    await Promise.all(ids.map((id) => this.sampleOne(id)))
  }

  private async tick(): Promise<void> {
    await this.sample()
    if (!this.timer) return
    this.timer = undefined
    this.start()
  }

  private async sampleOne(id: ProcessId): Promise<void> {
    // One that ended meanwhile has no members; its row says so already.
    const members = await this.options.members(id).catch(() => [])
    if (members.length === 0) return
    const atMs = this.now()
    const cpuMs = members.reduce((sum, member) => sum + member.cpuMs, 0)
    const rssBytes = members.reduce((sum, member) => sum + member.rssBytes, 0)
    const last = this.before.get(id)
    this.before.set(id, { cpuMs, atMs })
    if (!last || atMs <= last.atMs) return
    // A child that ended takes its share out of the sum.
    const cpuPercent = Math.max(0, Math.round(((cpuMs - last.cpuMs) / (atMs - last.atMs)) * 1000) / 10)
    this.options.report(id, { cpuPercent, rssBytes })
  }
}
