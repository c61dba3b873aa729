import { join } from 'node:path'
import { HOST_PROTOCOL_VERSION, SIDECAR_NAMES, type SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { SidecarView } from '../../preload/api.ts'
import type { Launcher } from './launcher.ts'
import { Ledger, sweepLedger, type SweepReport } from './ledger.ts'
import { SupervisedSidecar } from './supervised-sidecar.ts'
import { DEFAULT_TIMING, type SupervisorTiming } from './timing.ts'

export interface SupervisorOptions {
  launcher: Launcher
  /** Absolute, mode 0700. */
  dataDir: string
  runDir: string
  /** Random per host launch. */
  instanceId: string
  /** Configuration per sidecar, asked before each start of it. */
  configs: Record<SidecarName, () => unknown>
  /** One line for the host's own log. */
  log?: (message: string) => void
  timing?: Partial<SupervisorTiming>
}

/**
 * Runs the three sidecars for a host: starts them in parallel, keeps them alive, and stops them and
 * everything below them. The caller holds the host lock of `runDir`.
 */
export class Supervisor {
  private readonly sidecars: Record<SidecarName, SupervisedSidecar>
  private readonly ledgerPath: string

  constructor(private readonly options: SupervisorOptions) {
    const { launcher, dataDir, runDir, instanceId, configs, log = () => {} } = options
    this.ledgerPath = join(runDir, 'ledger.jsonl')
    const ledger = new Ledger(this.ledgerPath, log)
    const timing = { ...DEFAULT_TIMING, ...options.timing }
    const make = (name: SidecarName) =>
      new SupervisedSidecar({
        name,
        launcher,
        ledger,
        timing,
        log,
        initialize: () => ({
          protocolVersion: HOST_PROTOCOL_VERSION,
          instanceId,
          dataDir,
          runDir,
          config: configs[name](),
        }),
      })
    this.sidecars = {
      'exec-server': make('exec-server'),
      'mcp-server': make('mcp-server'),
      'network-proxy': make('network-proxy'),
    }
  }

  /** The same object for the life of the supervisor. */
  sidecar(name: SidecarName): SupervisedSidecar {
    return this.sidecars[name]
  }
  views(): SidecarView[] {
    return SIDECAR_NAMES.map((name) => this.sidecars[name].view())
  }

  /**
   * Ends what a killed host left behind, then starts all sidecars at once. Resolves when each is ready
   * or has failed once; a failed one is retried in the background.
   */
  async start(): Promise<SweepReport> {
    const report = await sweepLedger(this.ledgerPath)
    for (const problem of report.problems) this.options.log?.(problem)
    await Promise.all(SIDECAR_NAMES.map((name) => this.sidecars[name].start()))
    return report
  }

  /** Stops all at once; after `deadlineMs` nothing that was started is left. */
  async stop(deadlineMs = 4_500): Promise<void> {
    await Promise.all(SIDECAR_NAMES.map((name) => this.sidecars[name].stop(deadlineMs)))
  }
}
