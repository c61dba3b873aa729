/**
 * The words of a line that was joined by quoting each word for a POSIX shell. Null for a line that a shell
 * would not take for plain words: then nobody can tell the words for certain.
 */
export function splitWords(line: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!
    if (character === "'") {
      const end = line.indexOf("'", at + 1)
      if (end === -1) return null
      word = (word ?? '') + line.slice(at + 1, end)
      at = end
    } else if (character === '"') {
      word ??= ''
      for (at++; line[at] !== '"'; at++) {
        if (at >= line.length || line[at] === '$' || line[at] === '`') return null
        if (line[at] === '\\' && /["\\$`]/.test(line[at + 1] ?? '')) at++
        word += line[at]
      }
    } else if (character === '\\') {
      if (at + 1 >= line.length) return null
      word = (word ?? '') + line[++at]
    } else if (/\s/.test(character)) {
      if (word !== null) words.push(word)
      word = null
    } else if (/[;&|<>()$`*?[\]{}~!#]/.test(character)) return null
    else word = (word ?? '') + character
  }
  if (word !== null) words.push(word)
  return words.length === 0 ? null : words
}
