/** Text for the terminal. What agents wrote is made harmless first. */

/**
 * Controls, separators and everything Unicode draws as nothing, direction marks included: in a terminal
 * they move the cursor, hide text or reorder it.
 */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{DI}\p{Cs}]/gu
const UNSAFE_BUT_LINES = /(?!\n)[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{DI}\p{Cs}]/gu

const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`

/** One line: unsafe characters and line ends are written as `\u{…}`. */
export function visible(text: string): string {
  return text.replaceAll(UNSAFE, escape)
}

/** As `visible`, with line ends kept. */
export function visibleLines(text: string): string {
  return text.replaceAll(UNSAFE_BUT_LINES, escape)
}

/** Longer commands are cut in lists; what a decision is bound to is shown whole elsewhere. */
export const LINE_LIMIT = 240
/** Names of agents and sessions in lists. */
export const NAME_LIMIT = 40

/** At most `limit` characters, the last of them an ellipsis when some are missing. */
export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** "1 session", "3 sessions". */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** A command as one could type it into a POSIX shell; arguments that need it are quoted. */
export function shellQuoted(argv: readonly string[]): string {
  return argv
    .map((argument) => (/^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`))
    .join(' ')
}

/** Rows below a header, columns padded to their widest cell. */
export function table(header: string[], rows: string[][]): string {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  return [header, ...rows]
    .map((row) =>
      row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '),
    )
    .join('\n')
}

/** "12 s", "3 min", "5 h", "2 d". */
export function age(sinceMs: number, nowMs = Date.now()): string {
  const seconds = Math.max(0, Math.round((nowMs - sinceMs) / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`)
}
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
export function warn(text: string): void {
  process.stderr.write(`gatehouse: ${text}\n`)
}
