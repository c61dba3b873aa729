import type { BytePath } from '../../protocol/path-uri.ts'

/** What Node's file functions take for a path, byte for byte. */
export function nodePath(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

export function parentOf(path: BytePath): BytePath {
  return (path.slice(0, path.lastIndexOf('/')) || '/') as BytePath
}

/** The last segment; empty for the root. */
export function nameOf(path: BytePath): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function childOf(folder: BytePath, name: string): BytePath {
  return (folder === '/' ? `/${name}` : `${folder}/${name}`) as BytePath
}

/** True for the folder itself and everything in it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || (path.startsWith(folder) && path.charCodeAt(folder.length) === 0x2f)
}

/** The path as people read it; bytes that are no UTF-8 become replacement characters. */
export function displayPath(path: string): string {
  return nodePath(path).toString('utf8')
}
