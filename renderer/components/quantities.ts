/** Numbers, sizes, durations and times as the window writes them. */

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** `1.2 MB` (decimal units); exact bytes below 1 kB. */
export function formatBytes(sizeBytes: number): string {
  if (sizeBytes < 1_000) return `${sizeBytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = sizeBytes
  let unit = -1
  do {
    value /= 1_000
    unit += 1
  } while (value >= 999.95 && unit < units.length - 1)
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** `104,857,604`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

/** `2 processes`, `1 process`; `plural` for words that do not just take an s. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`
}

/** `0:42`, `12:05`, `3:00:07`, `2 d 4 h`. Never negative: a clock that went back shows as 0:00. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / SECOND_MS))
  if (durationMs >= 2 * DAY_MS) {
    const hours = Math.floor(durationMs / HOUR_MS)
    return `${Math.floor(hours / 24)} d ${hours % 24} h`
  }
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const [hours = 0, minutes = 0, rest = 0] = parts
  const tail = String(rest).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`
}

/** For short spans such as a connection: `38 ms`, `1.4 s`, then as `formatDuration`. */
export function formatSpan(durationMs: number): string {
  if (durationMs < SECOND_MS) return `${Math.max(0, Math.round(durationMs))} ms`
  if (durationMs < MINUTE_MS) return `${(durationMs / SECOND_MS).toFixed(1)} s`
  return formatDuration(durationMs)
}

/** `now`, `4 s ago`, `12 min ago`, `3 h ago`; from a day on the date. */
export function formatAgo(atMs: number, nowMs: number): string {
  const ago = nowMs - atMs
  if (ago < 2 * SECOND_MS) return 'now'
  if (ago < MINUTE_MS) return `${Math.floor(ago / SECOND_MS)} s ago`
  if (ago < HOUR_MS) return `${Math.floor(ago / MINUTE_MS)} min ago`
  if (ago < DAY_MS) return `${Math.floor(ago / HOUR_MS)} h ago`
  return formatMoment(atMs).slice(0, 10)
}

/** `2026-03-14 09:30:00`, local time. */
export function formatMoment(atMs: number): string {
  const at = new Date(atMs)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${formatClock(atMs)}`
}

/** `09:30:00`, local time. */
export function formatClock(atMs: number): string {
  const at = new Date(atMs)
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((value) => String(value).padStart(2, '0')).join(':')
}
