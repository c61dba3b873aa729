/** Names of rollout files: `sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl`. */
import { join } from 'node:path'

export const SESSIONS_FOLDER = 'sessions'
export const ARCHIVE_FOLDER = 'archived_sessions'

const NAME =
  /^rollout-(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2})-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:_[0-9a-f-]{36})?\.jsonl$/

/**
 * Path of a new rollout below `home`. The id in the name keeps two threads of one second apart; a
 * `revision` tells the file that replaces another after a revert.
 */
export function rolloutPath(home: string, threadId: string, startedAt: Date, revision: string | null = null): string {
  const two = (n: number) => String(n).padStart(2, '0')
  const [year, month, day] = [String(startedAt.getFullYear()), two(startedAt.getMonth() + 1), two(startedAt.getDate())]
  const time = `${two(startedAt.getHours())}-${two(startedAt.getMinutes())}-${two(startedAt.getSeconds())}`
  const suffix = revision === null ? '' : `_${revision}`
  return join(
    home,
    SESSIONS_FOLDER,
    year,
    month,
    day,
    `rollout-${year}-${month}-${day}T${time}-${threadId}${suffix}.jsonl`,
  )
}

/** The thread id in a rollout's file name, or null when the name is not one. */
export function threadIdOf(fileName: string): string | null {
  return NAME.exec(fileName)?.[2] ?? null
}
