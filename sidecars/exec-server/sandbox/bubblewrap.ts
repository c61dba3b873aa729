import { join } from 'node:path'
import { BubblewrapProbe } from './bubblewrap-probe.ts'
import { ConfinedCommand } from './confined-command.ts'
import { FilterFiles } from './seccomp/filter-files.ts'
import { MOUNT_POINTS_FILE, MountPoints } from './mount-points.ts'
import { findBridgePrograms } from './proxy-bridge.ts'
import type { NetworkWall } from './bubblewrap-arguments.ts'
import {
  isUnconfined,
  noWalls,
  refuseForeignProxies,
  unavailable,
  type Confinement,
  type Sandbox,
  type Walls,
} from './sandbox.ts'
import { resolvePlaces, type PolicyContext } from './sandbox-places.ts'
import { machineOf } from './seccomp/system-calls.ts'

export interface SandboxOptions {
  /** Existing private folder for what a sandbox is made of; no command ever sees into it. */
  folder: string
  policyContext: PolicyContext
  /** PATH in which the programs that confine others are looked for. */
  searchPath: () => string | undefined
  /** True: a sandbox with network is one that reaches the proxy and nothing else. */
  isNetworkManaged: boolean
}

/** Confines commands with bubblewrap, driven directly, and a system call filter of our own. */
export class BubblewrapSandbox implements Sandbox {
  private readonly probe: BubblewrapProbe
  private readonly mountPoints: MountPoints
  private filters: FilterFiles | undefined

  constructor(private readonly options: SandboxOptions) {
    this.probe = new BubblewrapProbe(options.searchPath)
    this.mountPoints = new MountPoints(join(options.folder, MOUNT_POINTS_FILE))
  }

  async require({ sandbox, tty, ...params }: Confinement): Promise<Walls> {
    refuseForeignProxies(params)
    const network = this.networkOf({ sandbox, ...params })
    if (network === undefined) return noWalls
    const { folder, searchPath, policyContext } = this.options
    // An entry that cannot be understood is refused now, and not after somebody said yes.
    resolvePlaces(sandbox, policyContext)
    const filters = this.filterFiles()
    const bridgePrograms = network === 'bridged' ? findBridgePrograms(searchPath()) : undefined
    const bubblewrap = await this.probe.require()
    const command = new ConfinedCommand({
      sandbox,
      tty,
      network,
      folder,
      policyContext,
      filters,
      bubblewrap,
      bridgePrograms,
      mountPoints: this.mountPoints,
      searchPath: searchPath(),
    })
    return { sandboxType: 'linuxSeccomp', build: (spec, proxyEnvironment) => command.build(spec, proxyEnvironment) }
  }

  /** Nothing that was built by it runs any more. */
  dispose(): void {
    this.mountPoints.dispose()
  }

  /** Undefined when the command is to run without walls. */
  private networkOf({
    sandbox,
    enforceManagedNetwork,
  }: Pick<Confinement, 'sandbox' | 'enforceManagedNetwork'>): NetworkWall | undefined {
    if (enforceManagedNetwork) return 'bridged'
    const permissions = sandbox?.permissions
    const isManaged = this.options.isNetworkManaged && permissions?.type === 'managed'
    if (isUnconfined(sandbox) && !isManaged) return undefined
    if (permissions && permissions.type !== 'disabled' && permissions.network === 'restricted') return 'none'
    return isManaged ? 'bridged' : 'machine'
  }

  private filterFiles(): FilterFiles {
    if (this.filters) return this.filters
    const machine = machineOf(process.arch)
    if (!machine) throw unavailable(`this exec server has no system call filter for ${process.arch} machines`)
    return (this.filters = new FilterFiles(this.options.folder, machine))
  }
}
