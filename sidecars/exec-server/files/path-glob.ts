/**
 * Globs of sandbox entries, matched against paths byte by byte: `*` and `?` stay within a segment,
 * `**` spans segments, `[a-z]` and `[!a]` are sets, `{a,b}` are alternatives. Matching is linear in
 * the name for each segment: a pattern comes from a client and must not be able to stall us.
 */
export interface PathGlob {
  /** True when the pattern matches the path or a folder above it. */
  covers(path: string): boolean
}

/** `{a,b}{c,d}…` multiplies; nobody writes more than this by hand. */
const MAX_ALTERNATIVES = 256

/** @throws RangeError for a pattern with too many alternatives */
export function compileGlob(pattern: string): PathGlob {
  const variants = expandBraces(pattern).map((variant) => variant.split('/').filter((segment) => segment !== ''))
  return {
    covers(path) {
      const segments = path.split('/').filter((segment) => segment !== '')
      return variants.some((variant) => coversFrom(variant, 0, segments, 0))
    },
  }
}

function expandBraces(pattern: string): string[] {
  let open = -1
  for (let i = 0, depth = 0; i < pattern.length; i++) {
    if (pattern[i] === '\\') i++
    else if (pattern[i] === '{' && depth++ === 0) open = i
    else if (pattern[i] === '}' && depth > 0 && --depth === 0) return expandAt(pattern, open, i)
  }
  return [pattern]
}

function expandAt(pattern: string, open: number, close: number): string[] {
  const out: string[] = []
  for (const choice of splitChoices(pattern.slice(open + 1, close)))
    for (const rest of expandBraces(choice + pattern.slice(close + 1))) {
      out.push(pattern.slice(0, open) + rest)
      if (out.length > MAX_ALTERNATIVES)
        throw new RangeError(`the pattern has more than ${MAX_ALTERNATIVES} alternatives`)
    }
  return out
}

function splitChoices(body: string): string[] {
  const choices = ['']
  let depth = 0
  for (const char of body) {
    if (char === '{') depth++
    else if (char === '}') depth--
    if (char === ',' && depth === 0) choices.push('')
    else choices[choices.length - 1] += char
  }
  return choices
}

/** The rest of the pattern against the rest of the path; what lies below a match is covered too. */
function coversFrom(pattern: string[], p: number, path: string[], s: number): boolean {
  // Positions reached so far: `**` makes it a set, never a tree of attempts.
  let reached = new Set([s])
  for (let i = p; i < pattern.length; i++) {
    const next = new Set<number>()
    const segment = pattern[i] as string
    if (segment === '**') for (let at = Math.min(...reached); at <= path.length; at++) next.add(at)
    else for (const at of reached) if (at < path.length && matchSegment(segment, path[at] as string)) next.add(at + 1)
    if (next.size === 0) return false
    reached = next
  }
  return true
}

/** One segment against one name: on a mismatch only the last `*` takes one character more. */
function matchSegment(pattern: string, name: string): boolean {
  let p = 0
  let n = 0
  let starAt = -1
  let starName = 0
  while (n < name.length) {
    const step = p < pattern.length ? matchOne(pattern, p, name.charAt(n)) : 0
    if (pattern[p] === '*') {
      starAt = p++
      starName = n
    } else if (step > 0) {
      p += step
      n++
    } else if (starAt >= 0) {
      p = starAt + 1
      n = ++starName
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}

/** How many characters of the pattern one character of the name takes; 0 = no match. */
function matchOne(pattern: string, at: number, char: string): number {
  const own = pattern[at]
  if (own === '?') return 1
  if (own === '\\' && at + 1 < pattern.length) return pattern[at + 1] === char ? 2 : 0
  if (own !== '[') return own === char ? 1 : 0
  const isNegated = pattern[at + 1] === '!' || pattern[at + 1] === '^'
  const start = at + (isNegated ? 2 : 1)
  const end = pattern.indexOf(']', start + 1)
  if (end < 0) return own === char ? 1 : 0
  return inSet(pattern.slice(start, end), char) === isNegated ? 0 : end - at + 1
}

function inSet(set: string, char: string): boolean {
  for (let i = 0; i < set.length; i++) {
    if (set[i + 1] === '-' && i + 2 < set.length) {
      if (char >= set.charAt(i) && char <= set.charAt(i + 2)) return true
      i += 2
    } else if (set[i] === char) return true
  }
  return false
}
