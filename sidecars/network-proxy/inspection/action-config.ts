/** Actions of hooks: header fields that are taken away, and secrets that are put in. */
import { ConfigError } from '../config/config-error.ts'
import { isHopByHop, isToken } from '../http/fields.ts'
import type { BodySubstitution, Replacement } from './body-substitution.ts'
import { ConfigTable } from './config-table.ts'
import type { AwsSigning, FieldInjection, HookAction } from './hook-actions.ts'
import { readPlaceholder } from './placeholder.ts'
import { readSecret, SECRET_KEYS, type Secret } from './secret-source.ts'

const ACTION_KEYS = ['strip_request_headers', 'inject_request_headers', 'body_secret_substitution', 'aws_sigv4']
const INJECT_KEYS = ['name', 'prefix', 'placeholder', ...SECRET_KEYS]
const SUBSTITUTION_KEYS = ['replacements', 'port', 'max_body_bytes']
const SIGNING_KEYS = [
  'placeholder_access_key_id',
  'region',
  'service',
  'access_key_id',
  'secret_access_key',
  'session_token',
  'port',
  'max_body_bytes',
]
/** Fields that decide where a request goes or where it ends, or that are no place for a secret. */
const NEVER_INJECTED = ['host', 'content-length', 'user-agent', 'expect']
const DEFAULT_BODY_BYTES = 1024 * 1024
const MAX_BODY_BYTES = 64 * 1024 * 1024
/** Tools do not sign without a key; any will do, for the signature is made anew. */
const DUMMY_SECRET_KEY = 'gatehouse-signs-in-place-of-this-key'

/** What children get in place of each variable that a secret came from. */
export type ChildVariables = Map<string, string>

export interface ReadActionContext {
  environment: Record<string, string | undefined>
  /** Of the `mitm` table. */
  version: 1 | 2
  /** Filled here. */
  variables: ChildVariables
}

/** Reads one action and fetches its secrets. @throws ConfigError */
export function readAction(path: string, value: unknown, context: ReadActionContext): HookAction {
  const table = new ConfigTable(path, value, ACTION_KEYS)
  return {
    strip: table
      .strings('strip_request_headers')
      .map((name) => readName(table.path('strip_request_headers'), name).toLowerCase()),
    inject: table.tables('inject_request_headers', INJECT_KEYS).map((entry) => readInjection(entry, context)),
    substitution: readSubstitution(table, context),
    signing: readSigning(table, context),
  }
}

function readInjection(entry: ConfigTable, context: ReadActionContext): FieldInjection {
  const name = entry.string('name')
  readName(entry.path('name'), name, NEVER_INJECTED)
  const placeholder = entry.raw('placeholder') === undefined ? undefined : readPlaceholder(entry, 'placeholder')
  if (placeholder !== undefined) requireVersion2(entry, 'placeholder', context)
  const { value: secret } = secretOf(entry, placeholder ?? '', context)
  const prefix = entry.raw('prefix') === undefined ? '' : entry.string('prefix')
  if (/[^\x20-\x7e\x80-\xff]/.test(`${prefix}${secret}`))
    throw new ConfigError(entry.path('name'), 'the value has characters that no header field may have')
  return { name, prefix, secret, placeholder }
}

function readSubstitution(action: ConfigTable, context: ReadActionContext): BodySubstitution | undefined {
  const table = action.table('body_secret_substitution', SUBSTITUTION_KEYS)
  if (!table) return undefined
  requireVersion2(action, 'body_secret_substitution', context)
  const replacements = table.tables('replacements', ['placeholder', ...SECRET_KEYS]).map((entry): Replacement => {
    const placeholder = readPlaceholder(entry, 'placeholder')
    return { placeholder, secret: secretOf(entry, placeholder, context).value }
  })
  if (replacements.length === 0) throw new ConfigError(table.path('replacements'), 'expected at least one replacement')
  const texts = replacements.map(({ placeholder }) => placeholder)
  for (const [at, text] of texts.entries())
    if (texts.some((other, i) => i !== at && other.includes(text)))
      throw new ConfigError(table.path('replacements'), `the placeholder ${text} is part of another one`)
  return { replacements, ...bodyLimits(table) }
}

function readSigning(action: ConfigTable, context: ReadActionContext): AwsSigning | undefined {
  const table = action.table('aws_sigv4', SIGNING_KEYS)
  if (!table) return undefined
  requireVersion2(action, 'aws_sigv4', context)
  const placeholder = table.string('placeholder_access_key_id')
  if (!/^[A-Za-z0-9_]{8,128}$/.test(placeholder))
    throw new ConfigError(table.path('placeholder_access_key_id'), 'expected 8 to 128 letters, digits or _')
  const secret = (key: string, inChild: string): string => {
    const source = table.table(key, SECRET_KEYS)
    if (!source) throw new ConfigError(table.path(key), 'expected a table with secret_env_var or secret_file')
    const { value } = secretOf(source, inChild, context)
    if (/[^\x21-\x7e]/.test(value)) throw new ConfigError(table.path(key), 'is not a credential of AWS')
    return value
  }
  return {
    placeholderAccessKeyId: placeholder,
    region: table.string('region'),
    service: table.string('service'),
    credentials: {
      accessKeyId: secret('access_key_id', placeholder),
      secretAccessKey: secret('secret_access_key', DUMMY_SECRET_KEY),
      sessionToken: table.raw('session_token') === undefined ? undefined : secret('session_token', ''),
    },
    ...bodyLimits(table),
  }
}

function bodyLimits(table: ConfigTable): { port: number; maxBodyBytes: number } {
  return {
    port: table.integer('port', { fallback: 443, min: 1, max: 65535 }),
    maxBodyBytes: table.integer('max_body_bytes', { fallback: DEFAULT_BODY_BYTES, min: 1, max: MAX_BODY_BYTES }),
  }
}

/** Fetches a secret and notes what children get in place of its variable. */
function secretOf(table: ConfigTable, inChild: string, { environment, variables }: ReadActionContext): Secret {
  const secret = readSecret(table, environment)
  const { variable, value } = secret
  if (inChild !== '' && value.includes(inChild))
    throw new ConfigError(table.path('placeholder'), 'is part of the secret that it stands for')
  if (variable === undefined) return secret
  const known = variables.get(variable)
  if (known && inChild !== '' && known !== inChild)
    throw new ConfigError(table.path('secret_env_var'), `${variable} has two placeholders; a child can have one`)
  if (!known) variables.set(variable, inChild)
  return secret
}

function requireVersion2(table: ConfigTable, key: string, { version }: ReadActionContext): void {
  if (version === 1) throw new ConfigError(table.path(key), 'needs version = 2 in network.mitm')
}

function readName(path: string, name: string, never: readonly string[] = ['host', 'content-length']): string {
  if (!isToken(name)) throw new ConfigError(path, `${JSON.stringify(name)} is not the name of a header field`)
  const key = name.toLowerCase()
  if (isHopByHop(key, []) || never.includes(key)) throw new ConfigError(path, `${name} cannot be changed by a hook`)
  return name
}
