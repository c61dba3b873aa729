/** How well a few typed letters fit a path: all of them, in order, and rather at the starts of words. */

export interface FuzzyMatch {
  score: number
  /** Places of the matched characters in the path, ascending. */
  indices: number[]
}

const EACH = 16
const RUN = 12
const WORD_START = 10
const IN_NAME = 6
const EXACT_CASE = 1
const GAP = 1
const MAX_GAP_COST = 12

/**
 * The best way to find `query` in `path` as a subsequence, letters of either case; null when there is
 * none. Letters in a row, at the start of a word and in the file's own name count more; gaps cost.
 */
export function fuzzyMatch(path: string, query: string): FuzzyMatch | null {
  if (query === '') return { score: 0, indices: [] }
  const low = path.toLowerCase()
  const wanted = query.toLowerCase()
  // Lower case may be longer than the text itself (İ): places would be wrong then.
  const text = low.length === path.length ? low : path
  if (!isSubsequence(text, wanted)) return null
  return bestPlaces(path, text, query, wanted)
}

function isSubsequence(text: string, wanted: string): boolean {
  let at = 0
  for (const letter of wanted) {
    at = text.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}

/** Dynamic programming over (letter of the query, place in the path): the best score that ends there. */
function bestPlaces(path: string, text: string, query: string, wanted: string): FuzzyMatch {
  const nameStart = path.lastIndexOf('/') + 1
  const rows: { score: Int32Array; from: Int32Array }[] = []
  const none = -0x40000000
  for (let q = 0; q < wanted.length; q++) {
    const score = new Int32Array(text.length).fill(none)
    const from = new Int32Array(text.length).fill(-1)
    const before = rows[q - 1]
    let best = none
    let bestAt = -1
    for (let at = 0; at < text.length; at++) {
      // The best earlier place so far, its gap growing with the distance.
      if (before && at > 0 && before.score[at - 1]! > none) {
        const reach = before.score[at - 1]!
        if (reach >= best - gapCost(at - 1 - bestAt)) {
          best = reach
          bestAt = at - 1
        }
      }
      if (text[at] !== wanted[q]) continue
      const own = EACH + bonus(path, at, nameStart) + (path[at] === query[q] ? EXACT_CASE : 0)
      if (!before) {
        score[at] = own
        continue
      }
      if (bestAt === -1) continue
      const run = before.score[at - 1] ?? none
      const along = run > none ? run + RUN : none
      const jump = best - gapCost(at - 1 - bestAt)
      score[at] = own + Math.max(along, jump)
      from[at] = along >= jump ? at - 1 : bestAt
    }
    rows.push({ score, from })
  }
  const last = rows.at(-1)!
  let end = 0
  for (let at = 1; at < text.length; at++) if (last.score[at]! > last.score[end]!) end = at
  const indices = [end]
  for (let q = wanted.length - 1; q > 0; q--) indices.unshift((end = rows[q]!.from[end]!))
  // Of two equal matches the shorter path is meant.
  return { score: Math.max(1, last.score[indices.at(-1)!]! * 8 - path.length), indices }
}

const gapCost = (gap: number): number => Math.min(MAX_GAP_COST, Math.max(0, gap) * GAP)

function bonus(path: string, at: number, nameStart: number): number {
  const before = path[at - 1]
  const isStart =
    before === undefined ||
    /[/\\_\-. ]/.test(before) ||
    (before === before.toLowerCase() && path[at] !== path[at]!.toLowerCase())
  return (isStart ? WORD_START : 0) + (at >= nameStart ? IN_NAME : 0)
}
