/** The `mitm` and `mitm_ca` tables of a configuration. Unknown keys are errors, as everywhere in it. */
import {
  canonicalHost,
  InvalidHost,
  InvalidPattern,
  parseRulePattern,
  type RulePattern,
} from '../../protocol/host-pattern.ts'
import { ConfigError } from '../config/config-error.ts'
import type { OwnAuthorityFiles } from '../certificates/own-authority.ts'
import { isToken } from '../http/fields.ts'
import { readAction } from './action-config.ts'
import { ConfigTable } from './config-table.ts'
import type { HookAction } from './hook-actions.ts'
import { HookTable, type Hook } from './hook-table.ts'
import type { InspectionSettings } from './inspection-settings.ts'
import { InvalidValuePattern, parseValuePattern, type ValuePattern } from './value-pattern.ts'

const HOOK_KEYS = ['host', 'methods', 'path_prefixes', 'query', 'headers', 'action', 'schemes', 'ports', 'body']
/** Keys that only version 2 has. */
const VERSION_2_KEYS = ['schemes', 'ports']

/**
 * Reads both tables; secrets are fetched now, from `environment` and files, so that a missing one stops
 * the start instead of a request. @throws ConfigError naming the key
 */
export function parseInspection(
  mitm: unknown,
  mitmCa: unknown,
  environment: Record<string, string | undefined>,
): InspectionSettings {
  const table = new ConfigTable('network.mitm', mitm ?? {}, ['version', 'hooks', 'actions', 'exclude', 'inspect_all'])
  const version = readVersion(table)
  const variables = new Map<string, string>()
  const actions = new Map(
    table
      .entries('actions')
      .map(
        ([name, value]) =>
          [name, readAction(table.path('actions', name), value, { environment, version, variables })] as const,
      ),
  )
  const hooks = table
    .entries('hooks')
    .map(([name, value]) => readHook(table.path('hooks', name), name, value, version, actions))
  const settings: InspectionSettings = {
    everything: table.boolean('inspect_all', false),
    exclude: table.strings('exclude').map((text) => readExclusion(table.path('exclude'), text)),
    hooks: new HookTable(hooks, variables),
    ownAuthority: readOwnAuthorityFiles(mitmCa),
  }
  for (const { host } of hooks)
    if (settings.exclude.some((pattern) => pattern.kind === 'exact' && pattern.host === host))
      throw new ConfigError(table.path('exclude'), `${host} has hooks, which need inspection; remove one of the two`)
  return settings
}

function readVersion(table: ConfigTable): 1 | 2 {
  const version = table.raw('version') ?? 1
  if (version !== 1 && version !== 2) throw new ConfigError(table.path('version'), 'expected 1 or 2')
  return version
}

function readHook(
  path: string,
  name: string,
  value: unknown,
  version: 1 | 2,
  actions: ReadonlyMap<string, HookAction>,
): Hook {
  // Engines move such names to the front, and order decides which hook wins.
  if (/^\d+$/.test(name)) throw new ConfigError(path, 'a hook cannot be named by a number; give it a word')
  const table = new ConfigTable(path, value, HOOK_KEYS)
  if (table.raw('body') !== undefined)
    throw new ConfigError(table.path('body'), 'bodies cannot be matched; remove this key')
  for (const key of VERSION_2_KEYS)
    if (version === 1 && table.raw(key) !== undefined)
      throw new ConfigError(table.path(key), 'needs version = 2 in network.mitm')
  const schemes = table.raw('schemes') === undefined ? undefined : readSchemes(table)
  const chosen = table.filledStrings('action').map((action) => {
    const found = actions.get(action)
    if (!found)
      throw new ConfigError(
        table.path('action'),
        `there is no action ${JSON.stringify(action)} in network.mitm.actions`,
      )
    return found
  })
  if (schemes?.includes('http') && chosen.some(carriesSecrets))
    throw new ConfigError(table.path('schemes'), 'an action that injects a secret cannot be used over http')
  if (chosen.filter(({ signing }) => signing).length > 1)
    throw new ConfigError(table.path('action'), 'a request can be signed by one action only')
  return {
    name,
    host: readHost(table),
    methods: table.filledStrings('methods').map((method) => readMethod(table, method)),
    paths: table.filledStrings('path_prefixes').map((text) => readPathPattern(table.path('path_prefixes'), text)),
    query: readConstraints(table, 'query', false),
    headers: readConstraints(table, 'headers', true),
    schemes,
    ports: table.raw('ports') === undefined ? undefined : readPorts(table),
    actions: chosen,
  }
}

function carriesSecrets({ inject, substitution, signing }: HookAction): boolean {
  return inject.length > 0 || substitution !== undefined || signing !== undefined
}

function readHost(table: ConfigTable): string {
  const text = table.string('host')
  if (text.includes('*')) throw new ConfigError(table.path('host'), 'a hook names one host; wildcards are not allowed')
  try {
    return canonicalHost(text)
  } catch (error) {
    if (error instanceof InvalidHost) throw new ConfigError(table.path('host'), error.message)
    throw error
  }
}

function readMethod(table: ConfigTable, method: string): string {
  if (!isToken(method)) throw new ConfigError(table.path('methods'), `${JSON.stringify(method)} is not a method`)
  return method.toUpperCase()
}

function readPathPattern(path: string, text: string): ValuePattern {
  const pattern = readPattern(path, text, true)
  if (pattern.kind === 'literal' && !pattern.text.startsWith('/'))
    throw new ConfigError(path, `${JSON.stringify(text)} does not start with a slash`)
  return pattern
}

function readPattern(path: string, text: string, pathLike: boolean): ValuePattern {
  try {
    return parseValuePattern(text, pathLike)
  } catch (error) {
    if (error instanceof InvalidValuePattern) throw new ConfigError(path, `${JSON.stringify(text)}: ${error.message}`)
    throw error
  }
}

function readConstraints(table: ConfigTable, key: 'query' | 'headers', isHeader: boolean): Map<string, ValuePattern[]> {
  const constraints = new Map<string, ValuePattern[]>()
  for (const [name, value] of table.entries(key)) {
    const path = table.path(key, name)
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
      throw new ConfigError(path, 'expected a list of values')
    if (!isHeader && value.length === 0) throw new ConfigError(path, 'expected at least one value')
    if (isHeader && !isToken(name)) throw new ConfigError(path, 'is not the name of a header field')
    const patterns = (value as string[]).map((text) => readPattern(path, text, false))
    constraints.set(isHeader ? name.toLowerCase() : name, patterns)
  }
  return constraints
}

function readSchemes(table: ConfigTable): string[] {
  return table.filledStrings('schemes').map((scheme) => {
    if (scheme !== 'http' && scheme !== 'https')
      throw new ConfigError(table.path('schemes'), `${JSON.stringify(scheme)} is neither "http" nor "https"`)
    return scheme
  })
}

function readPorts(table: ConfigTable): number[] {
  const ports = table.raw('ports')
  if (!Array.isArray(ports) || ports.length === 0)
    throw new ConfigError(table.path('ports'), 'expected a list of ports')
  return ports.map((port: unknown) => {
    if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65535)
      throw new ConfigError(table.path('ports'), `${JSON.stringify(port)} is not a port from 1 to 65535`)
    return port
  })
}

function readExclusion(path: string, text: string): RulePattern {
  try {
    return parseRulePattern(text, 'allow')
  } catch (error) {
    if (error instanceof InvalidPattern) throw new ConfigError(path, error.message)
    throw error
  }
}

function readOwnAuthorityFiles(mitmCa: unknown): OwnAuthorityFiles | undefined {
  if (mitmCa === undefined) return undefined
  const table = new ConfigTable('network.mitm_ca', mitmCa, ['certificate_file', 'private_key_file'])
  return { certificateFile: table.string('certificate_file'), privateKeyFile: table.string('private_key_file') }
}
