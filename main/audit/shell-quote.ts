const PLAIN = /^[\p{L}\p{N}_@%+=:,./-]+$/u
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const ESCAPES: Record<string, string> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\\': '\\\\', "'": "\\'" }

/** An argument list as one line that bash reads back as the same words, with nothing hidden in it. */
export function shellQuote(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ')
}

function quoteWord(word: string): string {
  // In first place a word with "=" would set a variable.
  if (PLAIN.test(word) && !word.includes('=')) return word
  if (!UNPRINTABLE.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`
  let quoted = ''
  for (const character of word) quoted += ESCAPES[character] ?? escapeOdd(character)
  return `$'${quoted}'`
}

function escapeOdd(character: string): string {
  if (!UNPRINTABLE.test(character)) return character
  const code = character.codePointAt(0)!
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}
