/** Keeps secrets that a hook put into a request from coming back to the client. */
import type { Fields } from '../http/fields.ts'

const REPLACEMENT = '[removed by Gatehouse]'

/** Replaces every occurrence of a secret in the values of a response's fields. */
export function removeEchoes(fields: Fields, secrets: readonly string[]): void {
  for (const secret of secrets)
    for (let at = 0; at < fields.values.length; at++) {
      const value = fields.values[at]!
      if (value.includes(secret)) fields.values[at] = value.replaceAll(secret, REPLACEMENT)
    }
}
