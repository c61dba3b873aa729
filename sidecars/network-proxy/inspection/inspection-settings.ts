/** Which HTTPS is inspected, and how. */
import type { OwnAuthorityFiles } from '../certificates/own-authority.ts'
import { patternNames, type RulePattern } from '../../protocol/host-pattern.ts'
import { HookTable } from './hook-table.ts'

export interface InspectionSettings {
  /** Every HTTPS host, not only those that limited mode or a hook demands. */
  everything: boolean
  /** Hosts that are relayed unread unless limited mode or a hook demands otherwise: pinned keys, client certificates. */
  exclude: readonly RulePattern[]
  hooks: HookTable
  ownAuthority: OwnAuthorityFiles | undefined
}

export const NO_INSPECTION: InspectionSettings = {
  everything: false,
  exclude: [],
  hooks: new HookTable([]),
  ownAuthority: undefined,
}

/** True when some connection may have to be inspected. */
export function mayInspect({ everything, hooks }: InspectionSettings, mode: 'full' | 'limited'): boolean {
  return everything || mode === 'limited' || !hooks.isEmpty
}

export function isExcluded({ exclude }: InspectionSettings, host: string, port: number): boolean {
  return exclude.some(
    (pattern) => (pattern.port === undefined || pattern.port === port) && patternNames(pattern, host, 'allow'),
  )
}
