import { extname, join, sep } from 'node:path'

/** What the page consists of; a file of any other kind does not exist for it. */
const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}

export interface PageFile {
  path: string
  contentType: string
}

/**
 * The file below `folder` that a page address names, or null when it names none that may be served: a
 * path that leaves the folder in any spelling, an unknown kind of file, an undecodable address.
 */
export function resolvePageFile(folder: string, address: string): PageFile | null {
  let name: string
  try {
    name = decodeURIComponent(new URL(address).pathname)
  } catch {
    return null
  }
  if (/[\\\0:]/.test(name) || name.split('/').includes('..')) return null
  const contentType = CONTENT_TYPES[extname(name)]
  if (!contentType) return null
  const path = join(folder, name)
  return path.startsWith(folder + sep) ? { path, contentType } : null
}
