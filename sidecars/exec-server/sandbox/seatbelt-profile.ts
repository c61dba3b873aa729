import type { BytePath } from '../../protocol/path-uri.ts'
import { displayPath } from '../files/byte-path.ts'
import type { PlaceRule, SandboxPlaces } from './sandbox-places.ts'

/** `machine`: open; a list: these ports of this machine and nothing else. */
export type SeatbeltNetwork = 'machine' | readonly number[]

/** Places without which no program of macOS starts, whatever may be read. */
const NEEDED = ['/usr/lib', '/System/Library', '/System/Cryptexes', '/private/var/db/dyld', '/dev']
/** Written to by every other program, and nothing is kept in them. */
const WRITABLE_DEVICES = ['/dev/null', '/dev/zero', '/dev/tty', '/dev/dtracehelper', '/dev/stdout', '/dev/stderr']

/**
 * A profile for sandbox-exec(1): everything is refused that is not allowed, and the last rule that fits
 * decides, so places come in the order of their depth. `files` null leaves files alone.
 */
export function seatbeltProfile(files: SandboxPlaces | null, network: SeatbeltNetwork): string {
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-exec process-fork)',
    '(allow signal process-info* (target same-sandbox))',
    '(allow sysctl-read mach-lookup ipc-posix-sem ipc-posix-shm user-preference-read)',
    '(allow pseudo-tty)',
    ...(files ? fileRules(files) : ['(allow file*)']),
    ...networkRules(network),
    '',
  ].join('\n')
}

function fileRules({ places, globs, sealed, shown }: SandboxPlaces): string[] {
  const byDepth = [...places].sort((a, b) => depthOf(a.path) - depthOf(b.path) || rank(a) - rank(b))
  return [
    `(allow file-read* ${NEEDED.map((path) => subtree(path)).join(' ')})`,
    // The way to a visible place.
    '(allow file-read-metadata)',
    ...byDepth.flatMap(({ path, access }) => accessRules(subtree(displayPath(path)), access)),
    ...globs
      .filter(({ access }) => access === 'denied')
      .map(({ pattern }) => denial(`(regex #"${globExpression(pattern)}")`)),
    `(allow file-write* ${WRITABLE_DEVICES.map((path) => `(literal ${quoted(path)})`).join(' ')})`,
    '(allow file-ioctl (regex #"^/dev/tty"))',
    // Ours, whatever more specific places say.
    ...sealed.map((path) => denial(subtree(displayPath(path)))),
    ...shown.map((path) => `(allow file-read* ${subtree(displayPath(path))})`),
  ]
}

/** Of rules for one place the strictest comes last. */
const rank = ({ access }: PlaceRule): number => ({ write: 0, read: 1, denied: 2 })[access]

function accessRules(filter: string, access: PlaceRule['access']): string[] {
  if (access === 'write') return [`(allow file-read* file-write* ${filter})`]
  if (access === 'read') return [`(allow file-read* ${filter})`, `(deny file-write* ${filter})`]
  return [denial(filter)]
}

const denial = (filter: string) => `(deny file-read* file-write* ${filter})`

function networkRules(network: SeatbeltNetwork): string[] {
  if (network === 'machine') return ['(allow network*)', '(allow system-socket)']
  return network.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`)
}

const subtree = (path: string) => `(subpath ${quoted(path)})`
const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`
const depthOf = (path: BytePath) => (path === '/' ? 0 : path.split('/').length)

/** A pattern of the sandbox object as a regular expression that covers what lies below a match, too. */
function globExpression(pattern: string): string {
  let out = '^'
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern.charAt(i)
    if (pattern.startsWith('**/', i)) {
      out += '(.*/)?'
      i += 2
    } else if (pattern.startsWith('**', i)) {
      out += '.*'
      i++
    } else if (char === '*') out += '[^/]*'
    else if (char === '?') out += '[^/]'
    else if (char === '[') {
      const end = pattern.indexOf(']', i + 2)
      if (end < 0) out += '\\['
      else {
        out += pattern.slice(i, end + 1).replace(/^\[!/, '[^')
        i = end
      }
    } else if (char === '{') out += '('
    else if (char === '}') out += ')'
    else if (char === ',') out += hasOpenBrace(pattern, i) ? '|' : ','
    else if (char === '\\') out += escaped(pattern.charAt(++i))
    else out += escaped(char)
  }
  return `${out}(/.*)?$`
}

const escaped = (char: string) => char.replace(/[.^$+()|[\]{}\\"*?]/g, '\\$&')

function hasOpenBrace(pattern: string, at: number): boolean {
  const before = pattern.slice(0, at)
  return before.split('{').length > before.split('}').length
}
