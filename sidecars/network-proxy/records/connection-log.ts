/**
 * Every connection the proxy saw. Keeping it is bounded and never waits: a slow or absent reader costs
 * old records, never a decision's time.
 */
import { randomBytes } from 'node:crypto'
import type { ConnectionFacts } from '../../protocol/host-channel.ts'
import type { ConnectionId } from '../../protocol/ids.ts'
import type { Attribution } from '../leases.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import { BlockRing } from './block-ring.ts'
import { ConnectionRecord, type ClientEnd, type RecordListener } from './connection-record.ts'

/** Takes one batch; resolves when the next may follow. A rejection ends the reporting. */
export type ReportFacts = (facts: ConnectionFacts[]) => Promise<void> | void

/** One verdict on one request, at the moment at which it was reached. */
export interface Decided {
  record: ConnectionRecord
  /** Of this very request; its record may have begun with another method. */
  destination: Destination
  /** Absent: allowed. */
  refusal: Refusal | undefined
  /** Somebody was asked, and this is what they said. */
  wasAsked: boolean
}

export interface ConnectionLogOptions {
  /** Absent: nobody reads, so nothing is gathered for reading. */
  report?: ReportFacts | undefined
  /** Told of each single verdict; records alone join equal ones. */
  onDecision?: ((decided: Decided) => void) | undefined
  nowMs?: () => number
  /** Changes are gathered this long. */
  flushEveryMs?: number
  /** Byte counts of live connections are reported at most this often. */
  countEveryMs?: number
  /** Unreported records beyond this are forgotten, oldest first. */
  maxUnreported?: number
}

/** About a millisecond's work; requests have their turn between two. */
const MAX_BATCH = 100
/** A proxy that stops waits no longer than this for its reader. */
const LAST_REPORT_MS = 500

export class ConnectionLog implements RecordListener {
  readonly blocks: BlockRing
  /** Records that were never reported because the reader was too slow. */
  forgotten = 0
  readonly nowMs: () => number
  private readonly live = new Set<ConnectionRecord>()
  private readonly unreported = new Set<ConnectionRecord>()
  private readonly idPrefix = randomBytes(6).toString('hex')
  private sequence = 0
  private flushTimer: NodeJS.Timeout | undefined
  private readonly countTimer: NodeJS.Timeout
  private reporting = false
  private closed = false

  constructor(private readonly options: ConnectionLogOptions) {
    this.nowMs = options.nowMs ?? Date.now
    this.blocks = new BlockRing(this.nowMs)
    this.countTimer = setInterval(() => this.noteTraffic(), options.countEveryMs ?? 1000)
    this.countTimer.unref()
  }

  open(destination: Destination, attribution: Attribution, client: ClientEnd | undefined): ConnectionRecord {
    const record = this.create(destination, attribution, client)
    this.live.add(record)
    return record
  }

  /** Records a refusal that was decided at once. Equal ones within ten seconds become one record with a count. */
  block(
    destination: Destination,
    attribution: Attribution,
    client: ClientEnd | undefined,
    refusal: Refusal,
  ): ConnectionRecord {
    const known = this.blocks.repeat(destination, attribution, refusal)
    if (known) {
      known.repeated()
      this.decided(known, destination, refusal)
      return known
    }
    const record = this.create(destination, attribution, client)
    record.clientAddress()
    record.blocked(refusal, this.nowMs())
    return record
  }

  private create(destination: Destination, attribution: Attribution, client: ClientEnd | undefined): ConnectionRecord {
    const id = `con_${this.idPrefix}${(++this.sequence).toString(36)}` as ConnectionId
    return new ConnectionRecord(id, destination, attribution, client, this.nowMs(), this)
  }

  recordDecided(record: ConnectionRecord, { refusal, wasAsked }: { refusal?: Refusal; wasAsked: boolean }): void {
    if (record.attribution.unrecorded) return
    this.options.onDecision?.({ record, destination: record.destination, refusal, wasAsked })
  }

  /** A verdict at once on a request that shares a record with others. */
  decided(record: ConnectionRecord, destination: Destination, refusal?: Refusal): void {
    if (record.attribution.unrecorded) return
    this.options.onDecision?.({ record, destination, refusal, wasAsked: false })
  }

  recordChanged(record: ConnectionRecord): void {
    if (!this.options.report || this.closed || record.attribution.unrecorded) return
    this.unreported.add(record)
    if (this.unreported.size > (this.options.maxUnreported ?? 5000)) this.forgetOldest()
    this.flushTimer ??= setTimeout(() => this.flush(), this.options.flushEveryMs ?? 100)
  }

  recordEnded(record: ConnectionRecord): void {
    this.live.delete(record)
    if (record.state === 'blocked' && !record.attribution.unrecorded) this.blocks.add(record)
  }

  private forgetOldest(): void {
    for (const record of this.unreported) {
      // A live one will be reported when it ends; only finished stories can be lost.
      this.unreported.delete(record)
      if (record.closedAtMs !== undefined) this.forgotten++
      return
    }
  }

  private noteTraffic(): void {
    for (const record of this.live)
      if (record.bytesIn + record.bytesOut !== record.reportedBytes) this.recordChanged(record)
  }

  private flush(): void {
    this.flushTimer = undefined
    if (!this.reporting) void this.report(this.options.report)
  }

  private async report(to: ReportFacts | undefined): Promise<void> {
    if (!to) return
    this.reporting = true
    try {
      while (this.unreported.size > 0) {
        await to(this.takeBatch())
        await new Promise((resolve) => setImmediate(resolve))
      }
    } catch {
      // The reader is gone. Records go on being kept within their bounds, for whoever reads the ring.
    } finally {
      this.reporting = false
    }
  }

  private takeBatch(): ConnectionFacts[] {
    const batch: ConnectionFacts[] = []
    for (const record of this.unreported) {
      this.unreported.delete(record)
      record.reportedBytes = record.bytesIn + record.bytesOut
      batch.push(record.facts())
      if (batch.length >= MAX_BATCH) break
    }
    return batch
  }

  /** Reports what is left and stops. A reader that does not take it in time goes without. */
  async close(): Promise<void> {
    clearInterval(this.countTimer)
    clearTimeout(this.flushTimer)
    for (const record of this.live) record.closed(this.nowMs())
    clearTimeout(this.flushTimer)
    if (!this.reporting) await this.lastReport()
    this.closed = true
  }

  private async lastReport(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      this.report(this.options.report),
      new Promise<void>((resolve) => (timer = setTimeout(resolve, LAST_REPORT_MS))),
    ])
    clearTimeout(timer)
  }
}
