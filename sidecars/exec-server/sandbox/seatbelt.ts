import { existsSync } from 'node:fs'
import type { SandboxOptions } from './bubblewrap.ts'
import { proxyPorts } from './proxy-ports.ts'
import {
  isUnconfined,
  noWalls,
  refuseRedirection,
  unavailable,
  type Confinement,
  type Sandbox,
  type Walls,
} from './sandbox.ts'
import { resolvePlaces } from './sandbox-places.ts'
import { seatbeltProfile } from './seatbelt-profile.ts'

const SANDBOX_EXEC = '/usr/bin/sandbox-exec'

/** Confines commands with sandbox-exec, which comes with macOS. */
export class SeatbeltSandbox implements Sandbox {
  constructor(private readonly options: SandboxOptions) {}

  async require(params: Confinement): Promise<Walls> {
    const { sandbox, enforceManagedNetwork } = params
    const { isNetworkManaged, policyContext } = this.options
    refuseRedirection(params)
    const permissions = sandbox?.permissions
    const isManaged = enforceManagedNetwork || (isNetworkManaged && permissions?.type === 'managed')
    if (isUnconfined(sandbox) && !isManaged) return noWalls
    if (!existsSync(SANDBOX_EXEC)) throw unavailable(`${SANDBOX_EXEC} is missing, so no sandbox can be made`)
    resolvePlaces(sandbox, policyContext)
    const isClosed =
      !enforceManagedNetwork && permissions && permissions.type !== 'disabled' && permissions.network === 'restricted'
    return {
      sandboxType: 'macosSeatbelt',
      build: async (spec, proxyEnvironment) => {
        const ports = isClosed || !isManaged ? [] : proxyPorts(proxyEnvironment)
        if (isManaged && !isClosed && ports.length === 0)
          throw unavailable('the command may only reach the network through the proxy, and there is none')
        const profile = seatbeltProfile(
          resolvePlaces(sandbox, policyContext),
          isManaged || isClosed ? ports : 'machine',
        )
        const argv = [SANDBOX_EXEC, '-p', profile, '--', spec.program, ...spec.argv.slice(1)]
        return { spec: { ...spec, program: SANDBOX_EXEC, argv }, release: () => {} }
      },
    }
  }

  dispose(): void {}
}
