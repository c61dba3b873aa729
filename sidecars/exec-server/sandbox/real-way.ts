import { childOf, nameOf, parentOf } from '../files/byte-path.ts'
import type { BytePath } from '../../protocol/path-uri.ts'
import { Looks } from './looks.ts'

/** As the kernel's own limit for one path. */
const MAX_LINKS = 40

/** Where a path leads; a missing place stands as written below the part that exists. */
export function realWay(path: BytePath, looks = new Looks()): BytePath {
  const { end, links, isThere } = walk(path, looks)
  if (isThere && links.length <= MAX_LINKS) return end
  return path === '/' ? path : childOf(realWay(parentOf(path), looks), nameOf(path))
}

/** The place itself with the way to it followed: a link at the end stays a link. */
export function namedPlace(path: BytePath, looks = new Looks()): BytePath {
  return path === '/' ? path : childOf(realWay(parentOf(path), looks), nameOf(path))
}

/** Every symbolic link that is followed on the way, by the real path of the link itself. */
export function linksOnTheWay(path: BytePath, looks = new Looks()): BytePath[] {
  return walk(path, looks).links
}

/** @returns `isThere` false when some part of the way is missing or no folder; the rest was then taken as written */
function walk(path: BytePath, looks: Looks): { end: BytePath; links: BytePath[]; isThere: boolean } {
  const links: BytePath[] = []
  const pending = segmentsOf(path).reverse()
  let at = '/' as BytePath
  let isThere = true
  while (pending.length > 0 && links.length <= MAX_LINKS) {
    const segment = pending.pop()!
    if (segment === '.') continue
    if (segment === '..') {
      at = parentOf(at)
      continue
    }
    const next = childOf(at, segment)
    const target = looks.linkTarget(next)
    if (target === null) {
      const kind = looks.kindSeen(next)
      if (kind === 'missing' || (kind !== 'folder' && pending.length > 0)) isThere = false
      at = next
      continue
    }
    links.push(next)
    if (target.startsWith('/')) at = '/' as BytePath
    pending.push(...segmentsOf(target).reverse())
  }
  return { end: at, links, isThere }
}

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '')
