/** What is known about an inspected tunnel while requests come out of it. */
import type { Admission } from '../admission.ts'
import type { TunnelScope } from '../http/tunnel-scope.ts'
import type { Attribution } from '../leases.ts'
import type { Ruling } from '../policy/policy.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'

export class InspectedScope implements TunnelScope {
  constructor(
    readonly host: string,
    readonly port: number,
    /** Of the tunnel itself; requests inside go on with it. */
    readonly record: ConnectionRecord,
    private readonly attribution: Attribution,
    private readonly admission: Admission,
  ) {}

  destinationOf(method: string): Destination {
    return { host: this.host, port: this.port, protocol: 'https', method }
  }

  /**
   * The tunnel was admitted, by a rule or by the owner; what can still forbid a request is a deny that came
   * since, the guards, and the mode.
   */
  judge(method: string, isWebSocketUpgrade: boolean): Ruling {
    const destination = this.destinationOf(method)
    const ruling = this.admission.judgeAdmitted(destination, this.attribution)
    if (ruling.verdict === 'deny' || !isWebSocketUpgrade) return ruling
    // Frames are writes, whatever the method of the request that opens them.
    const upgrade = this.admission.judgeAdmitted({ ...destination, protocol: 'websocket' }, this.attribution)
    return upgrade.verdict === 'deny' && upgrade.refusal.source === 'mode_guard' ? upgrade : ruling
  }
}
