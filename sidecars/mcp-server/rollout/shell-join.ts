const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/

/** argv as one line that a POSIX shell would read back as the same words. */
export function shellJoin(argv: readonly string[]): string {
  return argv.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')
}
