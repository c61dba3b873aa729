/**
 * The words of an example command in a `match` or `not_match` list: blanks separate, quotes and
 * backslashes protect, nothing is expanded. `undefined` when a quote is not closed.
 */
export function exampleWords(text: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote: '"' | "'" | undefined
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (character === '\\' && quote !== "'") {
      const next = text[++i]
      if (next === undefined) return undefined
      const keepsBackslash = quote === '"' && !'"\\$`\n'.includes(next)
      word = (word ?? '') + (keepsBackslash ? `\\${next}` : next)
    } else if (quote !== undefined) {
      if (character === quote) quote = undefined
      else word = (word ?? '') + character
    } else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (quote !== undefined) return undefined
  if (word !== undefined) words.push(word)
  return words
}
