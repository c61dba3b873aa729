/** An escape of a JSON text; the group is a surrogate that its other half does not follow. */
const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g

/**
 * Whether a string of a JSON text stands for half a character: no path, argument or file can hold it, it would
 * silently become another one. Only escapes can; `text` itself was UTF-8.
 */
export function hasLoneSurrogate(text: string): boolean {
  if (!/\\u[dD]/.test(text)) return false
  for (const [, lone] of text.matchAll(ESCAPE)) if (lone !== undefined) return true
  return false
}
