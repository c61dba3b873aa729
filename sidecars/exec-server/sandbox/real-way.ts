import { readlinkSync, realpathSync } from 'node:fs'
import { childOf, nameOf, nodePath, parentOf } from '../files/byte-path.ts'
import type { BytePath } from '../../protocol/path-uri.ts'

/** As the kernel's own limit for one path. */
const MAX_LINKS = 40

/** Where a path leads; a missing place stands as written below the part that exists. */
export function realWay(path: BytePath): BytePath {
  try {
    return realpathSync.native(nodePath(path), { encoding: 'buffer' }).toString('latin1') as BytePath
  } catch {
    return path === '/' ? path : childOf(realWay(parentOf(path)), nameOf(path))
  }
}

/** The place itself with the way to it followed: a link at the end stays a link. */
export function namedPlace(path: BytePath): BytePath {
  return path === '/' ? path : childOf(realWay(parentOf(path)), nameOf(path))
}

/** Every symbolic link that is followed on the way, by the real path of the link itself. */
export function linksOnTheWay(path: BytePath): BytePath[] {
  const links: BytePath[] = []
  let pending = path.split('/').filter((segment) => segment !== '')
  let at = '/' as BytePath
  while (pending.length > 0 && links.length < MAX_LINKS) {
    const [segment, ...rest] = pending as [string, ...string[]]
    pending = rest
    if (segment === '.') continue
    if (segment === '..') {
      at = parentOf(at)
      continue
    }
    const next = childOf(at, segment)
    const target = linkTarget(next)
    if (target === null) {
      at = next
      continue
    }
    links.push(next)
    if (target.startsWith('/')) at = '/' as BytePath
    pending = [...target.split('/').filter((part) => part !== ''), ...rest]
  }
  return links
}

/** Null for anything that is not a link, or not there. */
export function linkTarget(path: BytePath): string | null {
  try {
    return readlinkSync(nodePath(path), { encoding: 'buffer' }).toString('latin1')
  } catch {
    return null
  }
}
