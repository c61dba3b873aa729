/** What the administrator of this machine demands of every proxy on it. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import { parseDocument } from '../config/config-file.ts'
import { InvalidPattern, parseRulePattern, type RulePattern } from '../../protocol/host-pattern.ts'

export interface Requirements {
  /** False: no proxy may run. */
  enabled: boolean | undefined
  /** The widest mode. */
  mode: 'full' | 'limited' | undefined
  httpPort: number | undefined
  socksPort: number | undefined
  /** Each: false = may not be switched on. */
  allowUpstreamProxy: boolean | undefined
  allowNonLoopback: boolean | undefined
  allowLocalBinding: boolean | undefined
  allowAllUnixSockets: boolean | undefined
  /** Hosts that may be allowed; undefined = any. */
  allowed: RulePattern[] | undefined
  /** True: users may add hosts beyond `allowed`; false: `allowed` is exactly the list; undefined: within it. */
  allowedExpansion: boolean | undefined
  denied: RulePattern[]
  /** False: users may not add denials of their own. */
  deniedExpansion: boolean | undefined
  /** A host that nothing allows is refused; nobody is asked. */
  allowedOnly: boolean
  /** Hosts that are asked about although a rule allows them. */
  review: RulePattern[]
  /** Unix sockets that may be allowed; undefined = any. */
  unixSockets: string[] | undefined
}

const KNOWN = [
  'enabled',
  'mode',
  'http_port',
  'socks_port',
  'allow_upstream_proxy',
  'dangerously_allow_non_loopback_proxy',
  'dangerously_allow_all_unix_sockets',
  'domains',
  'allowed_domains',
  'allowed_domains_expansion',
  'denied_domains',
  'denied_domains_expansion',
  'managed_allowed_domains_only',
  'review_domains',
  'unix_sockets',
  'allow_unix_sockets',
  'allow_local_binding',
]

/** Where an administrator puts the file on this platform. */
export function requirementsPath(platform: NodeJS.Platform = process.platform): string {
  switch (platform) {
    case 'darwin':
      return '/Library/Application Support/Gatehouse/network-requirements.toml'
    case 'win32':
      return join(process.env.ProgramData ?? 'C:\\ProgramData', 'Gatehouse', 'network-requirements.toml')
    default:
      return '/etc/gatehouse/network-requirements.toml'
  }
}

/**
 * Reads the file when there is one. A broken file is an error, never "no requirements".
 * @throws ConfigError naming the file and the key or line
 */
export async function loadRequirements(path = requirementsPath()): Promise<Requirements | undefined> {
  if (!existsSync(path)) return undefined
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError(path, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`)
  }
  try {
    return parseRequirements(parseDocument(path, text))
  } catch (error) {
    if (error instanceof ConfigError && !error.message.startsWith(path)) throw new ConfigError(path, error.message)
    throw error
  }
}

/** @throws ConfigError; unknown keys are errors */
export function parseRequirements(document: Record<string, unknown>): Requirements {
  for (const key of Object.keys(document))
    if (!KNOWN.includes(key)) throw new ConfigError(key, `unknown requirement (known: ${KNOWN.join(', ')})`)
  const read = new RequirementReader(document)
  const map = read.domainMap()
  const allowed = [...(read.patterns('allowed_domains') ?? []), ...map.allow]
  return {
    enabled: read.boolean('enabled'),
    mode: read.mode(),
    httpPort: read.port('http_port'),
    socksPort: read.port('socks_port'),
    allowUpstreamProxy: read.boolean('allow_upstream_proxy'),
    allowNonLoopback: read.boolean('dangerously_allow_non_loopback_proxy'),
    allowLocalBinding: read.boolean('allow_local_binding'),
    allowAllUnixSockets: read.boolean('dangerously_allow_all_unix_sockets'),
    allowed: allowed.length > 0 || document.allowed_domains !== undefined ? allowed : undefined,
    allowedExpansion: read.boolean('allowed_domains_expansion'),
    denied: [...(read.patterns('denied_domains') ?? []), ...map.deny],
    deniedExpansion: read.boolean('denied_domains_expansion'),
    allowedOnly: read.boolean('managed_allowed_domains_only') ?? false,
    review: read.patterns('review_domains') ?? [],
    unixSockets: read.paths(),
  }
}

class RequirementReader {
  constructor(private readonly document: Record<string, unknown>) {}

  boolean(key: string): boolean | undefined {
    const value = this.document[key]
    if (value === undefined || typeof value === 'boolean') return value
    throw new ConfigError(key, 'expected true or false')
  }

  mode(): 'full' | 'limited' | undefined {
    const { mode } = this.document
    if (mode === undefined || mode === 'full' || mode === 'limited') return mode
    throw new ConfigError('mode', 'expected "full" or "limited"')
  }

  port(key: string): number | undefined {
    const value = this.document[key]
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535) return value
    throw new ConfigError(key, 'expected a port from 1 to 65535')
  }

  patterns(key: string): RulePattern[] | undefined {
    return this.list(key)?.map((text) => managedPattern(key, text))
  }

  paths(): string[] | undefined {
    const list = this.list('allow_unix_sockets')
    const map = this.table('unix_sockets')
    if (!list && !map) return undefined
    const paths = [...(list ?? []), ...Object.keys(map ?? {}).filter((path) => map?.[path] === 'allow')]
    for (const path of paths)
      if (!isAbsolute(path)) throw new ConfigError('unix_sockets', `${JSON.stringify(path)} is not an absolute path`)
    return paths
  }

  domainMap(): { allow: RulePattern[]; deny: RulePattern[] } {
    const map = this.table('domains') ?? {}
    const of = (verdict: string) =>
      Object.keys(map)
        .filter((pattern) => map[pattern] === verdict)
        .map((pattern) => managedPattern('domains', pattern))
    for (const [pattern, verdict] of Object.entries(map))
      if (verdict !== 'allow' && verdict !== 'deny')
        throw new ConfigError(`domains.${JSON.stringify(pattern)}`, 'expected "allow" or "deny"')
    return { allow: of('allow'), deny: of('deny') }
  }

  private list(key: string): string[] | undefined {
    const value = this.document[key]
    if (value === undefined) return undefined
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[]
    throw new ConfigError(key, 'expected a list of texts')
  }

  private table(key: string): Record<string, unknown> | undefined {
    const value = this.document[key]
    if (value === undefined) return undefined
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    throw new ConfigError(key, 'expected a table')
  }
}

/** A managed list names hosts; "everything" in it would be no list at all. */
function managedPattern(key: string, text: string): RulePattern {
  try {
    return parseRulePattern(text, 'deny')
  } catch (error) {
    if (error instanceof InvalidPattern) throw new ConfigError(key, error.message)
    throw error
  }
}
