/** Whether the first words are those of the pattern, exactly. A word that is only known at run time matches nothing. */
export function matchesPattern(pattern: readonly string[][], words: readonly (string | undefined)[]): boolean {
  return matchedLength(pattern, words) === pattern.length
}

/** How many words of the pattern match, from the first on. */
export function matchedLength(pattern: readonly string[][], words: readonly (string | undefined)[]): number {
  const miss = pattern.findIndex((alternatives, i) => {
    const word = words[i]
    return word === undefined || !alternatives.includes(word)
  })
  return miss < 0 ? pattern.length : miss
}
