import { userInfo } from 'node:os'
import { basename } from 'node:path'

/** The shell in which the person's own commands, and the model's, run. */
export function loginShell(): { path: string; name: string } {
  const path = userInfo().shell || process.env.SHELL || '/bin/sh'
  return { path, name: basename(path) }
}
