import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import type { ProcessStartParams, SpawnErrorKind } from '../../protocol/exec-process.ts'
import type { ChildSpec } from '../processes/child.ts'
import { WireError } from '../wire/wire-error.ts'

export type SandboxType = 'none' | 'linuxSeccomp' | 'macosSeatbelt' | 'windowsRestrictedToken'

/** The part of a start that asks for walls. */
export type Confinement = Pick<
  ProcessStartParams,
  'sandbox' | 'enforceManagedNetwork' | 'managedNetwork' | 'networkProxy' | 'tty'
>

/** A command ready to be spawned, with what confines it. */
export interface ConfinedSpec {
  spec: ChildSpec
  /** Gives back what the walls are made of. To be called once, when the child has ended or could not start. */
  release(): void
}

/** Walls that can be put around one command. */
export interface Walls {
  sandboxType: SandboxType
  /**
   * What is really spawned. To be called right before it is, with everything about the command decided.
   * @param proxyEnvironment variables that name the proxy to reach, from whoever may say so
   * @throws WireError with `data.kind` when they cannot be built
   */
  build(spec: ChildSpec, proxyEnvironment: Readonly<Record<string, string>>): Promise<ConfinedSpec>
}

/** Turns a command and the sandbox it asks for into what is really spawned. */
export interface Sandbox {
  /**
   * Judges what is asked for, before anybody is asked whether the command may run.
   * @throws WireError `sandboxUnavailable` when it cannot be enforced: never a silent fall-back
   */
  require(params: Confinement): Promise<Walls>
  /** Removes what is left of the walls; no command of ours runs any more. */
  dispose(): void
}

/** True when the object asks for nothing: `disabled`, or unrestricted files with the network enabled. */
export function isUnconfined(sandbox: SandboxObject | undefined): boolean {
  if (!sandbox) return true
  const { permissions } = sandbox
  switch (permissions.type) {
    case 'disabled':
      return true
    case 'managed':
      return permissions.file_system.type === 'unrestricted' && permissions.network === 'enabled'
    case 'external':
      // Somebody outside confines us and everything below us already.
      return permissions.network !== 'restricted'
  }
}

/** The field by which redirected connections were asked for, undefined when they were not. */
export function redirectionField({ managedNetwork, networkProxy }: Confinement): string | undefined {
  if (managedNetwork?.transparentTcp) return 'managedNetwork.transparentTcp'
  return networkProxy?.proxy.transparentTcp ? 'networkProxy.proxy.transparentTcp' : undefined
}

/** @throws WireError naming the field when redirected connections are asked for */
export function refuseRedirection(params: Confinement): void {
  const field = redirectionField(params)
  if (field !== undefined)
    throw unavailable(
      `${field}: connections are redirected on Linux, behind walls; leave it out and use the proxy variables`,
    )
}

/** A command that runs as it is. */
export const noWalls: Walls = {
  sandboxType: 'none',
  build: async (spec) => ({ spec, release: () => {} }),
}

/** For systems without a sandbox: runs what needs none and refuses the rest with `reason`. */
export function refusingSandbox(reason: string): Sandbox {
  return {
    async require(params) {
      if (!isUnconfined(params.sandbox) || params.enforceManagedNetwork) throw unavailable(reason)
      refuseRedirection(params)
      return noWalls
    },
    dispose: () => {},
  }
}

/** The sandbox that was asked for does not exist here. */
export function unavailable(message: string): WireError {
  return new WireError('internal', message, { kind: 'sandboxUnavailable' satisfies SpawnErrorKind })
}

/** The sandbox exists, but not for this object or these files. */
export function preparationFailed(message: string): WireError {
  return new WireError('internal', message, { kind: 'sandboxPreparation' satisfies SpawnErrorKind })
}
