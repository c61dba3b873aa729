/** The path that hooks decide on, which must be the path that every server would serve. */

/** The path says different things to different servers; `problem` is a sentence part for the client. */
export class AmbiguousPath extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'AmbiguousPath'
  }
}

export interface ReadPath {
  /** Without the query; unreserved characters are not percent-encoded. */
  path: string
  query: URLSearchParams
}

// Some servers cut parameters off a segment first: "..;x" is ".." to them.
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:;[^/]*)?(?:\/|$)/
const UNRESERVED = /[A-Za-z0-9\-._~]/

/**
 * Splits and normalises a request target in origin form. @throws AmbiguousPath for dot segments, encoded
 * slashes, backslashes and NULs, double encoding, and a path that starts like another authority
 */
export function readPath(target: string): ReadPath {
  const at = target.indexOf('?')
  const raw = at < 0 ? target : target.slice(0, at)
  if (raw.startsWith('//')) throw new AmbiguousPath('a path that starts with two slashes')
  if (raw.includes('\\')) throw new AmbiguousPath('a backslash in the path')
  if (/%(?![0-9A-Fa-f]{2})/.test(raw)) throw new AmbiguousPath('a broken percent escape in the path')
  if (/%(?:2f|5c|00)/i.test(raw)) throw new AmbiguousPath('an encoded slash, backslash or NUL in the path')
  if (/%25(?:2e|2f|5c)/i.test(raw)) throw new AmbiguousPath('a dot or slash in the path that is encoded twice')
  const path = raw.replace(/%([0-9A-Fa-f]{2})/g, (whole, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16))
    return UNRESERVED.test(char) ? char : whole.toUpperCase()
  })
  if (DOT_SEGMENT.test(path)) throw new AmbiguousPath('"." or ".." as a segment of the path')
  return { path, query: new URLSearchParams(at < 0 ? '' : target.slice(at + 1)) }
}
