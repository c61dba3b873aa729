/**
 * Substitutions in backquotes. A shell ends one at the next backquote without a backslash, whatever stands around it
 * (quotes, comments), takes backslashes away and only then reads it; the grammar reads it as it is written.
 */

/** Backquotes in one part of a text that are looked into. */
const MOST_BACKQUOTES = 100

/** What a shell reads in the backquotes of a part of a text that the grammar does not look into. */
export function backquotedIn(text: string): string[] {
  const found: string[] = []
  for (let start = nextBackquote(text, 0); start >= 0 && found.length < MOST_BACKQUOTES;) {
    const end = nextBackquote(text, start + 1)
    if (end < 0) break
    if (end > start + 1) found.push(unescaped(text.slice(start + 1, end)))
    start = nextBackquote(text, end + 1)
  }
  return found
}

/** -1: there is none without a backslash. */
function nextBackquote(text: string, from: number): number {
  for (let at = from; at < text.length; at++)
    if (text[at] === '\\') at += 1
    else if (text[at] === '`') return at
  return -1
}

/**
 * What a shell may read instead of what the grammar does in `` `inner` ``; empty when both read the same.
 * @param inner without the backquotes at both ends
 */
export function otherwiseRead(inner: string): string[] {
  if (!/[`\\]/.test(inner)) return []
  // Inside of double quotes a backslash before another one is taken away, too.
  const whole = [unescaped(inner), inner.replaceAll(/\\([$`\\"])/g, '$1')]
  return [...new Set([...whole, ...inner.split('`', MOST_BACKQUOTES)])].filter((text) => text.trim() !== '')
}

const unescaped = (inner: string): string => inner.replaceAll(/\\([$`\\])/g, '$1')
