/** Texts that children have in place of secrets, and that the proxy exchanges on the way out. */
import { ConfigError } from '../config/config-error.ts'
import type { ConfigTable } from './config-table.ts'

/** Characters that JSON, forms and header fields all write as they are, so that a placeholder is found in each. */
const PLACEHOLDER = /^[A-Za-z0-9._~-]{8,128}$/

/** @throws ConfigError when `key` holds no usable placeholder */
export function readPlaceholder(table: ConfigTable, key: string): string {
  const text = table.string(key)
  if (!PLACEHOLDER.test(text))
    throw new ConfigError(table.path(key), 'expected 8 to 128 letters, digits, or . _ ~ - that occur nowhere else')
  return text
}

/**
 * The value of a header field with the secret in place of the placeholder, also inside Basic credentials;
 * undefined when the placeholder is not in it.
 */
export function exchangeInField(value: string, placeholder: string, secret: string): string | undefined {
  if (value.includes(placeholder)) return value.replaceAll(placeholder, secret)
  const basic = /^(basic) +([A-Za-z0-9+/]+=*)$/i.exec(value)
  if (!basic) return undefined
  const credentials = Buffer.from(basic[2]!, 'base64').toString('utf8')
  if (!credentials.includes(placeholder)) return undefined
  return `${basic[1]!} ${Buffer.from(credentials.replaceAll(placeholder, secret)).toString('base64')}`
}
