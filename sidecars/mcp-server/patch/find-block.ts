/** Where a block of lines stands in a file: exactly if possible, else with growing tolerance. */

const PUNCTUATION: readonly (readonly [RegExp, string])[] = [
  [/[\u2010-\u2015\u2212]/g, '-'],
  [/[\u2018-\u201b]/g, "'"],
  [/[\u201c-\u201f]/g, '"'],
  [/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, ' '],
]
const asciiPunctuation = (text: string): string =>
  PUNCTUATION.reduce((t, [pattern, plain]) => t.replace(pattern, plain), text)

/** From strict to tolerant; the first that finds anything decides. Names are for messages. */
const PASSES: readonly { name: 'exact' | 'trailing' | 'indentation' | 'punctuation'; fold: (t: string) => string }[] = [
  { name: 'exact', fold: (t) => t },
  { name: 'trailing', fold: (t) => t.trimEnd() },
  { name: 'indentation', fold: (t) => t.trim() },
  { name: 'punctuation', fold: (t) => asciiPunctuation(t).trim() },
]
export type MatchPass = (typeof PASSES)[number]['name']

export interface BlockMatches {
  pass: MatchPass
  /** Line indices (from 0) at which the block starts, ascending. */
  starts: number[]
}

/**
 * All places at or after `from` where `block` stands, in the strictest pass that has any; null when
 * none has. Folded lines are computed once per file and pass through `folds`.
 */
export function findBlock(
  lines: readonly string[],
  block: readonly string[],
  from: number,
  folds: FoldCache,
): BlockMatches | null {
  for (const { name, fold } of PASSES) {
    const wanted = block.map(fold)
    const folded = folds.get(name, lines, fold)
    const starts: number[] = []
    const first = wanted[0]!
    for (let at = folded.indexOf(first, from); at !== -1; at = folded.indexOf(first, at + 1)) {
      if (at + wanted.length > folded.length) break
      let k = 1
      while (k < wanted.length && folded[at + k] === wanted[k]) k++
      if (k === wanted.length) starts.push(at)
    }
    if (starts.length > 0) return { pass: name, starts }
  }
  return null
}

/** Keeps one file's folded lines, so that many chunks cost one fold per pass. */
export class FoldCache {
  private readonly kept = new Map<MatchPass, readonly string[]>()
  get(pass: MatchPass, lines: readonly string[], fold: (t: string) => string): readonly string[] {
    if (pass === 'exact') return lines
    let folded = this.kept.get(pass)
    if (!folded) this.kept.set(pass, (folded = lines.map(fold)))
    return folded
  }
}
