import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import type { ProcessStartParams } from '../../protocol/exec-process.ts'
import type { ChildSpec } from '../processes/child.ts'
import { WireError } from '../wire/wire-error.ts'

export type SandboxType = 'none' | 'linuxSeccomp' | 'macosSeatbelt' | 'windowsRestrictedToken'

/** A command ready to be spawned, with what confines it. */
export interface ConfinedSpec {
  spec: ChildSpec
  sandboxType: SandboxType
}

/** The part of a start that asks for walls. */
export type Confinement = Pick<ProcessStartParams, 'sandbox' | 'enforceManagedNetwork' | 'networkProxy'>

/** Turns a command and the sandbox it asks for into what is really spawned. */
export interface Sandbox {
  /** @throws WireError `sandboxUnavailable` when it cannot be enforced: never a silent fall-back */
  confine(spec: ChildSpec, params: Confinement): ConfinedSpec
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

/** For systems and builds without a sandbox: runs what needs none and refuses the rest. */
export const noSandbox: Sandbox = {
  confine(spec, { sandbox, enforceManagedNetwork, networkProxy }) {
    if (!isUnconfined(sandbox)) throw unavailable('this exec server cannot enforce the requested sandbox')
    if (enforceManagedNetwork) throw unavailable('this exec server has no managed network to confine the command to')
    if (networkProxy !== undefined) throw unavailable('this exec server does not launch network proxies for commands')
    return { spec, sandboxType: 'none' }
  },
}

function unavailable(message: string): WireError {
  return new WireError('internal', message, { kind: 'sandboxUnavailable' })
}
