import { CommandError } from './command.ts'

/**
 * The entry whose id is `given`, or the only one whose id starts or ends with it (ids are random, so a
 * few characters do).
 * @throws CommandError when none or several fit
 */
export function findById<T extends { id: string }>(entries: T[], given: string, noun: string): T {
  const exact = entries.find((entry) => entry.id === given)
  if (exact) return exact
  const close =
    given.length < 3 ? [] : entries.filter((entry) => entry.id.startsWith(given) || entry.id.endsWith(given))
  const [only, second] = close
  if (!only) throw new CommandError(`there is no ${noun} ${given}`)
  if (second) throw new CommandError(`${given} fits several: ${close.map((entry) => entry.id).join(', ')}`)
  return only
}
