/** Actions of hooks: header fields that are taken away, and fields with secrets that are put in. */
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import { isHopByHop, isToken } from '../http/fields.ts'
import { ConfigTable } from './config-table.ts'
import type { HookAction } from './hook-table.ts'

const ACTION_KEYS = ['strip_request_headers', 'inject_request_headers', 'body_secret_substitution', 'aws_sigv4']
const INJECT_KEYS = ['name', 'prefix', 'secret_env_var', 'secret_file', 'placeholder']
/** They belong to the credential broker, which is another product; silence would send requests unsigned. */
const BROKER_KEYS = ['body_secret_substitution', 'aws_sigv4', 'placeholder']
/** Fields that decide where a request goes or where it ends, or that are no place for a secret. */
const NEVER_INJECTED = ['host', 'content-length', 'user-agent', 'expect']
const MAX_SECRET_BYTES = 16 * 1024

/** Reads one action and fetches its secrets; `variables` are those they came from. @throws ConfigError */
export function readAction(
  path: string,
  value: unknown,
  environment: Record<string, string | undefined>,
): { action: HookAction; variables: string[] } {
  const table = new ConfigTable(path, value, ACTION_KEYS)
  refuseBrokerKeys(table)
  const variables: string[] = []
  const strip = table
    .strings('strip_request_headers')
    .map((name) => readName(table.path('strip_request_headers'), name))
  const inject = table.tables('inject_request_headers', INJECT_KEYS).map((entry) => {
    refuseBrokerKeys(entry)
    const name = entry.string('name')
    readName(entry.path('name'), name, NEVER_INJECTED)
    const { secret, variable } = readSecret(entry, environment)
    if (variable !== undefined) variables.push(variable)
    const text = `${entry.raw('prefix') === undefined ? '' : entry.string('prefix')}${secret}`
    if (/[^\x20-\x7e\x80-\xff]/.test(text))
      throw new ConfigError(entry.path('name'), 'the value has characters that no header field may have')
    return { name, value: text, secret }
  })
  return { action: { strip: strip.map((name) => name.toLowerCase()), inject }, variables }
}

function refuseBrokerKeys(table: ConfigTable): void {
  for (const key of BROKER_KEYS)
    if (table.raw(key) !== undefined)
      throw new ConfigError(
        table.path(key),
        'is part of the credential broker, which Gatehouse does not have; remove it',
      )
}

function readName(path: string, name: string, never: readonly string[] = ['host', 'content-length']): string {
  if (!isToken(name)) throw new ConfigError(path, `${JSON.stringify(name)} is not the name of a header field`)
  const key = name.toLowerCase()
  if (isHopByHop(key, []) || never.includes(key)) throw new ConfigError(path, `${name} cannot be changed by a hook`)
  return name
}

function readSecret(
  entry: ConfigTable,
  environment: Record<string, string | undefined>,
): { secret: string; variable?: string } {
  const variable = entry.raw('secret_env_var')
  const file = entry.raw('secret_file')
  if ((variable === undefined) === (file === undefined))
    throw new ConfigError(entry.path('name'), 'needs exactly one of secret_env_var and secret_file')
  if (variable !== undefined) {
    const name = entry.string('secret_env_var')
    const secret = environment[name]
    if (!secret) throw new ConfigError(entry.path('secret_env_var'), `the variable ${name} is not set`)
    return { secret, variable: name }
  }
  return { secret: readSecretFile(entry.path('secret_file'), entry.string('secret_file')) }
}

function readSecretFile(path: string, file: string): string {
  if (!isAbsolute(file)) throw new ConfigError(path, 'expected an absolute path')
  try {
    if (statSync(file).size > MAX_SECRET_BYTES) throw new ConfigError(path, `${file} is larger than a secret can be`)
    const secret = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (secret === '') throw new ConfigError(path, `${file} is empty`)
    return secret
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(path, `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
