import { join } from 'node:path'
import { BubblewrapProbe } from './bubblewrap-probe.ts'
import { ConfinedCommand, type Workshop } from './confined-command.ts'
import { makeCovers } from './cover-files.ts'
import { HandedOver } from './handed-over.ts'
import { FilterFiles } from './seccomp/filter-files.ts'
import { MOUNT_POINTS_FILE, MountPoints } from './mount-points.ts'
import { MountRegister } from './mount-register.ts'
import { findBridgePrograms } from './proxy-bridge.ts'
import type { NetworkWall } from './bubblewrap-arguments.ts'
import { RedirectionProbe } from './redirection/redirection-probe.ts'
import {
  isUnconfined,
  noWalls,
  redirectionField,
  unavailable,
  type Confinement,
  type Sandbox,
  type Walls,
} from './sandbox.ts'
import type { PolicyContext } from './sandbox-places.ts'
import { WallPlans } from './wall-plans.ts'
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
  private workshop: Workshop | undefined

  constructor(private readonly options: SandboxOptions) {
    this.probe = new BubblewrapProbe(options.searchPath)
  }

  async require(params: Confinement): Promise<Walls> {
    const network = this.networkOf(params)
    const redirectedBy = redirectionField(params)
    if (redirectedBy !== undefined && network !== 'bridged')
      throw unavailable(
        `${redirectedBy}: connections are redirected only where the proxy is the only way out; ask for that as well (enforceManagedNetwork), or leave it out`,
      )
    if (network === undefined) return noWalls
    const bridgePrograms = network === 'bridged' ? findBridgePrograms(this.options.searchPath()) : undefined
    const workshop = (this.workshop ??= openWorkshop(this.options))
    const bubblewrap = await this.probe.require()
    if (redirectedBy !== undefined && bridgePrograms)
      await workshop.redirectionProbe.require(redirectedBy, { ...bridgePrograms, bubblewrap })
    const { sandbox, tty } = params
    const { isNetworkManaged } = this.options
    // Under a host the lease alone says what may be reached.
    const loopbackPorts = isNetworkManaged ? [] : (params.managedNetwork?.loopbackPorts ?? [])
    const walling = { sandbox, tty, network, bubblewrap, bridgePrograms, loopbackPorts, redirectedBy, isNetworkManaged }
    const command = new ConfinedCommand(workshop, walling)
    return { sandboxType: 'linuxSeccomp', build: (spec, proxyEnvironment) => command.build(spec, proxyEnvironment) }
  }

  dispose(): void {
    this.workshop?.mountPoints.dispose()
  }

  /** Undefined when the command is to run without walls. */
  private networkOf({ sandbox, enforceManagedNetwork, networkProxy }: Confinement): NetworkWall | undefined {
    if (enforceManagedNetwork) return 'bridged'
    const permissions = sandbox?.permissions
    const isManaged = this.options.isNetworkManaged && permissions?.type === 'managed'
    if (isUnconfined(sandbox) && !isManaged) return undefined
    // Whoever closes the network and brings a proxy means: nothing but the proxy.
    if (permissions && permissions.type !== 'disabled' && permissions.network === 'restricted')
      return networkProxy ? 'bridged' : 'none'
    return isManaged ? 'bridged' : 'machine'
  }
}

function openWorkshop({ folder, policyContext, searchPath }: SandboxOptions): Workshop {
  const machine = machineOf(process.arch)
  if (!machine) throw unavailable(`this exec server has no system call filter for ${process.arch} machines`)
  const mountPoints = new MountPoints(join(folder, MOUNT_POINTS_FILE), MountRegister.ofUser())
  return {
    folder,
    machine,
    redirectionProbe: new RedirectionProbe(folder, machine),
    plans: new WallPlans(policyContext, () => mountPoints.lookAround()),
    searchPath,
    filters: new FilterFiles(folder, machine),
    covers: makeCovers(folder),
    mountPoints,
    handedOver: new HandedOver(folder),
  }
}
