/** What a session needs to know when its requests come out of an inspected tunnel. */
import type { Ruling } from '../policy/policy.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'

export interface TunnelScope {
  /** The host and port that the tunnel was asked for, and the only ones its requests may name. */
  readonly host: string
  readonly port: number
  readonly record: ConnectionRecord
  destinationOf(method: string): Destination
  /** Judges one request; never says `ask`. */
  judge(method: string, isWebSocketUpgrade: boolean): Ruling
}
