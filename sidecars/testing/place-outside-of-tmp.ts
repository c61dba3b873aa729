import { mkdtempSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A new folder that the sandbox's writable /tmp does not cover, wherever the home folder is. */
export function placeOutsideOfTmp(prefix: string): string {
  const home = realpathSync(homedir())
  return realpathSync(mkdtempSync(join(home.startsWith('/tmp/') ? '/var/tmp' : home, prefix)))
}
