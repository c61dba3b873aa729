import { PathUriError, parsePathUri, type BytePath } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'

/** What the C library says; Node's own texts are libuv's, which clients do not know. */
const OS_TEXTS: Record<string, [errno: number, text: string]> = {
  EPERM: [1, 'Operation not permitted'],
  ENOENT: [2, 'No such file or directory'],
  EIO: [5, 'Input/output error'],
  ENXIO: [6, 'No such device or address'],
  EBADF: [9, 'Bad file descriptor'],
  EAGAIN: [11, 'Resource temporarily unavailable'],
  EACCES: [13, 'Permission denied'],
  EBUSY: [16, 'Device or resource busy'],
  EEXIST: [17, 'File exists'],
  EXDEV: [18, 'Invalid cross-device link'],
  ENOTDIR: [20, 'Not a directory'],
  EISDIR: [21, 'Is a directory'],
  EINVAL: [22, 'Invalid argument'],
  ENFILE: [23, 'Too many open files in system'],
  EMFILE: [24, 'Too many open files'],
  ETXTBSY: [26, 'Text file busy'],
  EFBIG: [27, 'File too large'],
  ENOSPC: [28, 'No space left on device'],
  ESPIPE: [29, 'Illegal seek'],
  EROFS: [30, 'Read-only file system'],
  ENAMETOOLONG: [36, 'File name too long'],
  ENOTEMPTY: [39, 'Directory not empty'],
  ELOOP: [40, 'Too many levels of symbolic links'],
  EDQUOT: [122, 'Disk quota exceeded'],
}

/** The wire's error for an operating system error code such as `ENOENT`. */
export function osError(code: string): WireError {
  const [errno, text] = OS_TEXTS[code] ?? [0, code]
  const message = errno === 0 ? text : `${text} (os error ${errno})`
  if (code === 'ENOENT') return new WireError('notFound', message)
  if (code === 'EACCES' || code === 'EPERM' || code === 'EINVAL') return new WireError('invalidRequest', message)
  return new WireError('internal', message)
}

/** The operating system's code of a failure, or null when it has none. */
export function osCodeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown }
  return error instanceof Error && typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : null
}

/** Turns a failure of Node's file functions into the wire's; everything else passes unchanged. */
export function toFileError(error: unknown): unknown {
  if (error instanceof WireError) return error
  const code = osCodeOf(error)
  return code === null ? error : osError(code)
}

/**
 * Reads a path of params.
 * @throws WireError: a malformed URI is a bad parameter, a good one of another system a bad request
 */
export function pathOf(uri: string): BytePath {
  try {
    return parsePathUri(uri, process.platform === 'darwin' ? 'macos' : process.platform)
  } catch (error) {
    if (!(error instanceof PathUriError)) throw error
    throw new WireError(error.kind === 'foreign' ? 'invalidRequest' : 'invalidParams', error.message)
  }
}
