/** Which form of a refusal the client shows to people. */
import type { RefusalForm } from '../policy/refusal.ts'
import type { Fields } from './fields.ts'

/** Git prints the body of an error only when it is plain text, npm only a member of a JSON one. */
export function refusalForm(fields: Fields, inspected: boolean): RefusalForm {
  if (fields.get('user-agent')?.startsWith('git/')) return 'text'
  if (inspected) return /\bjson\b/i.test(fields.get('accept') ?? '') ? 'json' : 'text'
  return 'json'
}
