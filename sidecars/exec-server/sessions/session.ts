import { randomUUID } from 'node:crypto'
import type { SessionId } from '../../protocol/ids.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'
import { ProcessNotifications } from '../processes/process-notifications.ts'
import type { WireConnection } from '../wire/wire-connection.ts'

/**
 * One client's line of work: it owns processes and outlives its connections for a while. At most one
 * connection is attached at a time and gets the notifications of every process.
 */
export class Session {
  readonly wireId = randomUUID()
  readonly id = `ses_${this.wireId}` as SessionId
  readonly openedAtMs = Date.now()
  private readonly processes = new Map<string, ManagedProcess>()
  private attachment: { connection: WireConnection; notifications: ProcessNotifications } | undefined
  private readonly observations = new Map<ManagedProcess, () => void>()

  constructor(readonly clientName: string) {}

  get connection(): WireConnection | undefined {
    return this.attachment?.connection
  }

  attach(connection: WireConnection): void {
    const notifications = new ProcessNotifications(connection)
    this.attachment = { connection, notifications }
    for (const process of this.processes.values()) this.observe(process, notifications)
  }

  /** Processes run on; their output is kept and no longer held back. */
  detach(): void {
    for (const stop of this.observations.values()) stop()
    this.observations.clear()
    this.attachment?.notifications.dispose()
    this.attachment = undefined
  }

  find(clientProcessId: string): ManagedProcess | undefined {
    return this.processes.get(clientProcessId)
  }
  add(process: ManagedProcess): void {
    this.processes.set(process.seed.clientProcessId, process)
    if (this.attachment) this.observe(process, this.attachment.notifications)
  }
  /** The id may be used again. */
  remove(process: ManagedProcess): void {
    this.observations.get(process)?.()
    this.observations.delete(process)
    if (this.processes.get(process.seed.clientProcessId) === process)
      this.processes.delete(process.seed.clientProcessId)
  }
  all(): ManagedProcess[] {
    return [...this.processes.values()]
  }

  private observe(process: ManagedProcess, notifications: ProcessNotifications): void {
    this.observations.set(process, process.observe(notifications))
  }
}
