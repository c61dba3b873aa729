/** The record of what one client connection is doing: successive requests to one destination share it. */
import type { Attribution } from '../leases.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionLog } from '../records/connection-log.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import type { TunnelScope } from './tunnel-scope.ts'

export class SessionRecord {
  private record: ConnectionRecord | undefined

  /** `scope` is set for requests out of an inspected tunnel, which has a record already. */
  constructor(
    private readonly log: ConnectionLog,
    private readonly client: ByteSocket,
    private readonly scope: TunnelScope | undefined,
  ) {
    this.record = scope?.record
  }

  get current(): ConnectionRecord | undefined {
    return this.record
  }

  /** The record for a request that `ruleId` allowed: the current one if it continues it. */
  allow(destination: Destination, attribution: Attribution, ruleId: string | undefined): ConnectionRecord {
    const { record } = this
    const continues = this.scope
      ? record?.closedAtMs === undefined
      : record?.continues(destination, attribution, ruleId)
    if (record && continues) {
      record.requests++
      this.log.decided(record, destination)
      return record
    }
    const next = this.begin(destination, attribution)
    next.allowed({ ruleId })
    return next
  }

  /** Ends the current record and starts another. */
  begin(destination: Destination, attribution: Attribution): ConnectionRecord {
    this.close()
    const record = this.log.open(destination, attribution, this.client)
    record.requests = 1
    record.inspected = this.scope !== undefined
    this.record = record
    return record
  }

  /** Records a refusal that was decided at once. */
  block(destination: Destination, attribution: Attribution, refusal: Refusal): void {
    const record = this.log.block(destination, attribution, this.client, refusal)
    record.inspected ||= this.scope !== undefined
  }

  /** Gives the record away to whoever goes on with the connection. */
  release(): void {
    this.record = undefined
  }

  close(refusal?: Refusal): void {
    const nowMs = this.log.nowMs()
    if (refusal) this.record?.blocked(refusal, nowMs)
    this.record?.closed(nowMs)
    this.record = undefined
  }
}
