import type { CommandGate } from './processes/command-gate.ts'
import type { Environment } from './processes/child-environment.ts'
import { registerProcessMethods } from './processes/process-methods.ts'
import { ProcessStarter } from './processes/process-starter.ts'
import { ProcessStopper } from './processes/process-stopper.ts'
import { ProcessTable, type ProcessTableEvents, type SpoolSettings } from './processes/process-table.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { Handshake } from './sessions/handshake.ts'
import type { Session } from './sessions/session.ts'
import { SessionStore, type SessionStoreEvents } from './sessions/session-store.ts'
import type { Carrier } from './wire/carrier.ts'
import { MethodTable } from './wire/method-table.ts'
import { WireConnection, type ConnectionIdentity } from './wire/wire-connection.ts'

export interface ExecServerOptions {
  sandbox: Sandbox
  gate?: CommandGate
  spool: SpoolSettings
  /** What children may inherit; asked at every start. */
  inheritable(): Environment
  /** For `initialize` and `environment/info`. */
  environmentInfo(): Promise<unknown>
  /** Methods that are not about processes. */
  registerMore(methods: MethodTable): void
  log(line: string): void
  /** How long a session waits for its client; 0 ends it with its connection. */
  detachedTtlMs?: number
  processEvents?: ProcessTableEvents
  sessionEvents?: SessionStoreEvents
}

/** The server without its listeners: sessions, processes and methods, for any number of carriers. */
export class ExecServer {
  readonly table: ProcessTable
  readonly sessions: SessionStore
  readonly stopper = new ProcessStopper()
  private readonly methods = new MethodTable()
  private readonly connections = new Set<WireConnection>()

  constructor(private readonly options: ExecServerOptions) {
    const { processEvents, sessionEvents } = options
    this.table = new ProcessTable(options.spool, {
      onChanged: (process) => processEvents?.onChanged(process),
      onForgotten: (process) => processEvents?.onForgotten(process),
    })
    this.sessions = new SessionStore(
      {
        onOpened: (session, connection) => sessionEvents?.onOpened(session, connection),
        onClosed: (session, reason) => {
          this.endProcessesOf(session)
          sessionEvents?.onClosed(session, reason)
        },
      },
      options.detachedTtlMs,
    )
    registerProcessMethods(this.methods, {
      sessions: this.sessions,
      starter: new ProcessStarter({
        table: this.table,
        sandbox: options.sandbox,
        gate: options.gate,
        inheritable: options.inheritable,
      }),
      stopper: this.stopper,
    })
    options.registerMore(this.methods)
  }

  /** Serves one client until its carrier ends. */
  serve(carrier: Carrier, identity: ConnectionIdentity): WireConnection {
    const handshake = new Handshake(this.sessions, this.options.environmentInfo)
    const connection = new WireConnection(carrier, identity, this.methods, handshake, this.options.log)
    this.connections.add(connection)
    connection.own({ dispose: () => this.connections.delete(connection) })
    connection.start()
    return connection
  }

  /** Drops every client and ends every process. */
  close(reason: string): void {
    for (const connection of this.connections) connection.close(reason)
    this.sessions.closeAll(reason)
    for (const process of this.table.all()) this.stopper.terminate(process)
  }

  private endProcessesOf(session: Session): void {
    for (const process of session.all()) this.stopper.terminate(process)
  }
}
