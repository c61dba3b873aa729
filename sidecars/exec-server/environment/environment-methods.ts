import { DecodeError, object, optional, string, type Decoder } from '../../protocol/decode.ts'
import { environmentConfigParams, type EnvironmentInfo } from '../../protocol/exec-environment.ts'
import { sandboxObject } from '../../protocol/exec-sandbox.ts'
import { pathOf, toFileError } from '../files/file-error.ts'
import { FilePolicy, type PolicyContext } from '../files/file-policy.ts'
import type { MethodTable } from '../wire/method-table.ts'
import { WireError } from '../wire/wire-error.ts'
import { defaultConfigPlaces, readConfigLayers, type ConfigPlaces } from './config-layers.ts'
import { defaultSkillRoots, discoverSkills, type SkillRoot } from './skills.ts'

export interface EnvironmentMethodOptions {
  environmentInfo: () => EnvironmentInfo | Promise<EnvironmentInfo>
  policyContext: PolicyContext
  /** Default: this account's. */
  configPlaces?: ConfigPlaces
  skillRoots?: SkillRoot[]
}

/** Here a path of another system is a bad parameter, not a bad request as in `fs/*`. */
function requireOwnPath(uri: string): void {
  try {
    pathOf(uri)
  } catch (error) {
    throw error instanceof WireError ? new WireError('invalidParams', error.message) : error
  }
}

/** Absent, null or an object, whose members mean nothing. */
const noParams: Decoder<null> = (value, path) => {
  if (value !== undefined && value !== null && (typeof value !== 'object' || Array.isArray(value)))
    throw new DecodeError(path, 'this method takes no parameters')
  return null
}
const discoverParams = object({ cwd: string, sandbox: optional(sandboxObject) })

/** Puts `environment/*`, `environmentConfig/read` and `capabilities/discoverV2` on a server's table. */
export function registerEnvironmentMethods(table: MethodTable, options: EnvironmentMethodOptions): void {
  const places = options.configPlaces ?? defaultConfigPlaces()
  const roots = options.skillRoots ?? defaultSkillRoots(places.codexHome)
  table.register('environment/info', 'environment info', noParams, () => options.environmentInfo())
  table.register('environment/status', 'environment status', noParams, () => ({ status: 'ready' }))
  table.register('environmentConfig/read', 'environment config', environmentConfigParams, async (params) => {
    // Names the project that asks; its own files are the client's to read.
    requireOwnPath(params.cwd)
    return readConfigLayers(params, places)
  })
  table.register('capabilities/discoverV2', 'capability discovery', discoverParams, async (params) => {
    try {
      pathOf(params.cwd)
      return await discoverSkills(roots, FilePolicy.of(params.sandbox, options.policyContext))
    } catch (error) {
      throw toFileError(error)
    }
  })
}
