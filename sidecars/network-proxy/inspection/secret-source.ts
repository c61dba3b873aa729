/** Where the secrets of hooks come from: a variable or a file, read once with the configuration. */
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import type { ConfigTable } from './config-table.ts'

export interface Secret {
  value: string
  /** The variable it came from; children must not have its value. */
  variable: string | undefined
}

/** The keys by which a table says where its secret is. */
export const SECRET_KEYS = ['secret_env_var', 'secret_file'] as const
const MAX_SECRET_BYTES = 16 * 1024

/** Fetches the secret that `table` points to. @throws ConfigError when there is none, or two */
export function readSecret(table: ConfigTable, environment: Record<string, string | undefined>): Secret {
  const hasVariable = table.raw('secret_env_var') !== undefined
  if (hasVariable === (table.raw('secret_file') !== undefined))
    throw new ConfigError(table.path('secret_env_var'), 'needs exactly one of secret_env_var and secret_file')
  if (!hasVariable)
    return { value: readSecretFile(table.path('secret_file'), table.string('secret_file')), variable: undefined }
  const variable = table.string('secret_env_var')
  const value = environment[variable]
  if (!value) throw new ConfigError(table.path('secret_env_var'), `the variable ${variable} is not set`)
  return { value, variable }
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
