/**
 * Path URIs: how every path travels on the exec server's wire. Reading follows the WHATWG rules for
 * `file:` URLs (dot segments, backslashes, surrounding blanks), writing is canonical: lower-case
 * scheme, three slashes, no trailing slash.
 *
 * POSIX paths are bytes. A {@link BytePath} holds one byte per character (`latin1`), so that names
 * that are not UTF-8 survive and the usual string operations stay exact.
 */

declare const brand: unique symbol
/** An absolute POSIX path, normalised, one character per byte. */
export type BytePath = string & { readonly [brand]: 'BytePath' }

/** The text is not a path URI that can be used on this machine. */
export class PathUriError extends Error {
  constructor(
    message: string,
    /** `foreign`: a valid URI of another machine or system; `malformed`: no path URI at all. */
    readonly kind: 'malformed' | 'foreign',
  ) {
    super(message)
    this.name = 'PathUriError'
  }
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i
/** What WHATWG strips from both ends of a URL before reading it. */
const SURROUNDING = /^[\u0000-\u0020]+|[\u0000-\u0020]+$/g
const DRIVE = /^\/[A-Za-z](?::|%3A)(?:\/|$)/i

/**
 * Reads a path URI into the bytes of an absolute POSIX path.
 * @throws PathUriError with the wire's own words
 */
export function parsePathUri(text: string, platformOs = 'linux'): BytePath {
  const trimmed = text.replace(SURROUNDING, '')
  if (!SCHEME.test(trimmed)) throw new PathUriError('invalid URI: relative URL without a base', 'malformed')
  let url: URL
  try {
    url = new URL(trimmed)
  } catch (error) {
    throw new PathUriError(`invalid URI: ${(error as Error).message}`, 'malformed')
  }
  if (url.protocol !== 'file:')
    throw new PathUriError(`unsupported path URI scheme \`${url.protocol.slice(0, -1)}\``, 'malformed')
  // URL drops an empty query or fragment from `search` and `hash`, but keeps its mark in `href`.
  if (url.href.includes('#')) throw new PathUriError('fragments are not allowed in path URIs', 'malformed')
  if (url.href.includes('?')) throw new PathUriError('query parameters are not allowed in path URIs', 'malformed')
  if (url.host !== '' || DRIVE.test(url.pathname))
    throw new PathUriError(`'${url.href}' is invalid on '${platformOs}'`, 'foreign')
  const bytes = decodePercent(url.pathname)
  if (bytes.includes('\0')) throw new PathUriError(`'${url.href}' is invalid on '${platformOs}'`, 'malformed')
  return normalize(bytes)
}

/** `%41` becomes one character per byte; a stray `%` stays as it is. WHATWG left only ASCII here. */
function decodePercent(pathname: string): string {
  return pathname.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Percent-decoding can bring slashes and dots to light (`%2F`), so segments are resolved again. */
function normalize(path: string): BytePath {
  const segments: string[] = []
  for (const segment of path.split('/'))
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  return `/${segments.join('/')}` as BytePath
}

/** Bytes that may stand unescaped in a canonical path URI. */
const PLAIN = /[A-Za-z0-9!$&'()*+,\-./:;=@[\]^_|~]/

/** Writes an absolute POSIX path as its canonical URI. */
export function formatPathUri(path: BytePath): string {
  let out = 'file://'
  for (let i = 0; i < path.length; i++) {
    const char = path.charAt(i)
    out += PLAIN.test(char) ? char : `%${path.charCodeAt(i).toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The native path as a string, or null when its bytes are not UTF-8. */
export function textOfPath(path: BytePath): string | null {
  const bytes = Uint8Array.from(path, (char) => char.charCodeAt(0))
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}

/** The bytes of an absolute native POSIX path given as a string; dot segments are resolved. */
export function pathOfText(text: string): BytePath {
  let bytes = ''
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte)
  return normalize(bytes)
}

/**
 * The URI for a path as people write it: an absolute POSIX path, a Windows drive or UNC path, or a
 * `file:` URI, which is passed on. For callers who talk to an exec server on any system.
 * @throws PathUriError for relative paths
 */
export function toPathUri(path: string): string {
  if (/^file:/i.test(path)) return path
  if (path.startsWith('/')) return formatPathUri(pathOfText(path))
  if (/^[A-Za-z]:[\\/]/.test(path)) return formatPathUri(pathOfText(`/${path.replaceAll('\\', '/')}`))
  if (path.startsWith('\\\\')) {
    const [host = '', ...rest] = path.slice(2).split('\\')
    return `file://${host}${formatPathUri(pathOfText(`/${rest.join('/')}`)).slice('file://'.length)}`
  }
  throw new PathUriError(`"${path}" is not an absolute path`, 'malformed')
}
