import { createHash } from 'node:crypto'
import { canonicalSubject, type Subject } from '../../sidecars/protocol/subject.ts'

/** SHA-256 (hex) of the canonical text of a subject: what a decision is bound to. */
export function hashSubject(subject: Subject): string {
  return createHash('sha256').update(canonicalSubject(subject)).digest('hex')
}
