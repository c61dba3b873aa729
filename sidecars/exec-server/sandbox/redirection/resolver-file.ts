import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Names are asked for at the redirector, as they were written: who looks them up in the end knows the domains to search
 * in, and decides by the name that the program has used. One that is there already stays as it is.
 * @param folder existing and private
 * @returns its path
 */
export function resolverFile(folder: string): string {
  const path = join(folder, 'resolv.conf')
  if (!existsSync(path)) writeFileSync(path, 'nameserver 127.0.0.1\nsearch .\n', { mode: 0o644 })
  return path
}
