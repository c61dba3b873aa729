import type { Subject } from '../../sidecars/protocol/subject.ts'

const SECRET_NAME = /key|token|secret|passw|passphrase|credential|auth(?!or)|cookie|session_id|private|dsn|_pat$/i
export const MASK = '•••'

/**
 * The subject as it may be written down: values of variables whose name speaks of a secret are replaced.
 * The command itself is kept to the byte; the hash beside it is of the unmasked subject.
 */
export function maskSubject(subject: Subject): Subject {
  if (subject.kind !== 'command') return subject
  const envChanges: Record<string, string | null> = {}
  for (const [name, value] of Object.entries(subject.envChanges))
    envChanges[name] = value !== null && value !== '' && SECRET_NAME.test(name) ? MASK : value
  return { ...subject, envChanges }
}
