/** How well a text answers what was typed into the palette. */

/** Letters strewn over a sentence are a coincidence, not an answer. */
const LEAST_PER_LETTER = 4

/**
 * Higher is better; null when the typed letters do not all occur in order. A run of letters, the start
 * of a word and the start of the text count more than scattered hits.
 */
export function rank(query: string, text: string): number | null {
  const wanted = query.toLowerCase().replaceAll(/\s+/g, '')
  if (wanted === '') return 0
  const lower = text.toLowerCase()
  const whole = lower.indexOf(query.toLowerCase().trim())
  if (whole >= 0)
    return (
      1_000 -
      Math.min(whole, 200) +
      (whole === 0 || isWordStart(lower, whole) ? 200 : 0) -
      Math.min(text.length, 100) / 10
    )
  let score = 0
  let at = -1
  for (const letter of wanted) {
    const next = lower.indexOf(letter, at + 1)
    if (next < 0) return null
    score += next === at + 1 ? 8 : isWordStart(lower, next) ? 6 : 1
    at = next
  }
  return score / wanted.length < LEAST_PER_LETTER ? null : score - Math.min(text.length, 100) / 10
}

function isWordStart(text: string, index: number): boolean {
  return index === 0 || /[\s/_.:-]/.test(text[index - 1] ?? '')
}

/** The best `limit` entries, best first; among equals the given order stays. */
export function bestMatches<T>(query: string, entries: readonly T[], textOf: (entry: T) => string, limit: number): T[] {
  const ranked: { entry: T; score: number }[] = []
  for (const entry of entries) {
    const score = rank(query, textOf(entry))
    if (score !== null) ranked.push({ entry, score })
  }
  return ranked
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ entry }) => entry)
}
