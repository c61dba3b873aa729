/** Different command lines that one command can become through its variables. */
const MOST_LINES = 32

/** Every line that words with these values can become; undefined when there are too many. */
export function linesOf(words: readonly (readonly string[] | undefined)[]): (string | undefined)[][] | undefined {
  let lines: (string | undefined)[][] = [[]]
  for (const texts of words) {
    if (texts && texts.length * lines.length > MOST_LINES) return undefined
    const [text, ...others] = texts ?? [undefined]
    if (others.length > 0) lines = lines.flatMap((line) => texts!.map((one) => [...line, one]))
    else if (texts?.length === 0) lines = []
    else for (const line of lines) line.push(text)
  }
  return lines
}
