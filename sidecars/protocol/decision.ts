/** A decision = verdict + scope + actor + rule + time. See docs/architecture.md, "Words". */
import { integer, literal, object, optional, string, variant, type Infer } from './decode.ts'
import { ruleId } from './ids.ts'

export const verdict = literal('allow', 'deny')
export type Verdict = Infer<typeof verdict>

export const scope = literal('once', 'session', 'always')
export type Scope = Infer<typeof scope>

/**
 * Who decided. `person` is the owner, through the window or the command line; `rule` is a written
 * rule; `policy` is the built-in default (for example "no rule matched and nobody can be asked").
 */
export const actor = variant('kind', {
  person: object({ via: literal('window', 'command-line') }),
  rule: object({}),
  policy: object({}),
})
export type Actor = Infer<typeof actor>

export const decision = object({
  verdict,
  scope,
  actor,
  /** The rule that decided or that this decision created. */
  ruleId: optional(ruleId),
  /** One sentence for people; on deny it is handed to the agent word for word. */
  reason: optional(string),
  /** SHA-256 (hex) of `canonicalSubject` of what was shown; the asker must compare before acting. */
  subjectHash: string,
  decidedAtMs: integer(0),
})
export type Decision = Infer<typeof decision>
