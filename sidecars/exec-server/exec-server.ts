import { rmSync } from 'node:fs'
import type { InstanceFolder } from './life/instance-folder.ts'
import { ProcessGuard } from './life/process-guard.ts'
import { ProcessLedger } from './life/process-ledger.ts'
import { ProcessStopper } from './life/process-stopper.ts'
import { MARKER_VARIABLE } from './life/process-tree.ts'
import { Watchdog } from './life/watchdog.ts'
import { ManagedNetwork } from './managed-network/managed-network.ts'
import type { InheritableEnvironment } from './processes/child-environment.ts'
import type { CommandGate } from './processes/command-gate.ts'
import { FloodReader } from './processes/flood-reader.ts'
import type { ManagedProcess } from './processes/managed-process.ts'
import { registerProcessMethods } from './processes/process-methods.ts'
import { ProcessStarter } from './processes/process-starter.ts'
import { ProcessTable } from './processes/process-table.ts'
import { Spawner } from './processes/spawner.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { machineOf } from './sandbox/seccomp/system-calls.ts'
import { ShellSnapshots } from './shell-snapshots/shell-snapshots.ts'
import { FifoPool } from './streams/fifo-pool.ts'
import { Handshake } from './sessions/handshake.ts'
import { SessionStore, type SessionStoreEvents } from './sessions/session-store.ts'
import type { Carrier } from './wire/carrier.ts'
import { MethodTable } from './wire/method-table.ts'
import { WireConnection, type ConnectionIdentity } from './wire/wire-connection.ts'

/** What this server can do with processes, beside the methods of files, http and environment. */
export const PROCESS_CAPABILITIES = {
  networkProxyLaunch: true,
  networkProxyReviewDomains: true,
  networkProxyTransparentTcp: process.platform === 'linux' && machineOf(process.arch) !== undefined,
  shellSnapshotV2: process.platform !== 'win32',
} as const

/** What a supervisor wants to know about processes. */
export interface ProcessEvents {
  /** Something about it is different; called often while it prints. */
  onChanged(process: ManagedProcess): void
  /** Nothing of it can be read any more. */
  onForgotten(process: ManagedProcess): void
}

export interface ExecServerOptions {
  sandbox: Sandbox
  /** None: whoever has the connection decides. */
  gate?: CommandGate
  /** Holds the ledger and the output on disk. */
  folder: InstanceFolder
  /** Bytes of output kept on disk per process, 0 for none. */
  spoolBytes: number
  inheritable: InheritableEnvironment
  /** For `initialize`. */
  environmentInfo(): unknown
  /** Methods that are not about processes. */
  registerMore(methods: MethodTable): void
  log(line: string): void
  /** How long a session waits for its client; 0 ends it with its connection. */
  detachedTtlMs?: number
  /** Beyond what the wire keeps: how many ended processes stay readable for the supervisor. */
  keepEnded?: number
  processEvents?: ProcessEvents
  sessionEvents?: SessionStoreEvents
}

/** The server without its listeners: sessions, processes and methods, for any number of carriers. */
export class ExecServer {
  readonly table: ProcessTable
  readonly sessions: SessionStore
  readonly stopper = new ProcessStopper()
  private readonly guard: ProcessGuard
  private readonly fifos: FifoPool
  private readonly spawner = new Spawner()
  private readonly floods = new FloodReader()
  private readonly network: ManagedNetwork
  private readonly methods = new MethodTable()
  private readonly connections = new Set<WireConnection>()

  constructor(private readonly options: ExecServerOptions) {
    const { folder, gate, processEvents, sessionEvents, spoolBytes } = options
    this.table = new ProcessTable(
      { folder: folder.path, limitBytes: spoolBytes, keepEnded: options.keepEnded ?? 0 },
      {
        onChanged: (process) => processEvents?.onChanged(process),
        onStarted: (process) => this.guard.watch(process),
        onExited: (process) => this.guard.ended(process),
        onForgotten: (process) => processEvents?.onForgotten(process),
      },
    )
    this.guard = new ProcessGuard(
      new Watchdog({
        markerEntryPrefix: gate ? `${MARKER_VARIABLE}=${this.table.idPrefix}` : '',
        folder: folder.path,
      }),
      new ProcessLedger(folder.ledgerPath),
    )
    this.fifos = new FifoPool(folder.path)
    this.network = new ManagedNetwork(() => options.inheritable.get())
    this.sessions = new SessionStore(
      {
        onOpened: (session, connection) => {
          // Who says hello will soon want to run something.
          setImmediate(() => this.fifos.prepare())
          sessionEvents?.onOpened(session, connection)
        },
        onClosed: (session, reason) => {
          for (const process of session.all())
            if (process.state === 'starting' || this.guard.isLiving(process)) void this.stopper.endWholly(process)
          sessionEvents?.onClosed(session, reason)
        },
      },
      options.detachedTtlMs,
    )
    registerProcessMethods(this.methods, {
      sessions: this.sessions,
      starter: new ProcessStarter({
        table: this.table,
        stopper: this.stopper,
        fifos: this.fifos,
        spawner: this.spawner,
        floods: this.floods,
        sandbox: options.sandbox,
        network: this.network,
        snapshots: new ShellSnapshots({
          folder: folder.path,
          watchGroup: (pid) => this.guard.watchGroup(pid),
        }),
        gate,
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

  /**
   * Drops every client and ends every process, politely for half of `graceMs` and then by force.
   * Resolves when all are gone or cannot be helped; the watchdog has the last word on the rest.
   */
  async close(reason: string, graceMs: number): Promise<void> {
    for (const connection of this.connections) connection.close(reason)
    const living = this.guard.living()
    if (graceMs > 0 && living.length > 0) await this.stopper.askToEnd(living, graceMs / 2)
    const ends = living.map((process) => this.stopper.endWholly(process))
    this.sessions.closeAll(reason)
    if (graceMs > 0) await Promise.all(ends)
    this.guard.dispose()
    for (const process of this.table.all()) process.dispose()
    this.spawner.close()
    this.floods.dispose()
    await this.network.close()
    await this.fifos.close()
    // The watchdog does it too, but it runs only where something had to be watched.
    rmSync(this.options.folder.path, { recursive: true, force: true })
    this.options.sandbox.dispose()
  }
}
