import { accessSync, constants, statSync } from 'node:fs'
import { resolve } from 'node:path'

/** What execvp searches when the environment has no PATH (confstr _CS_PATH). */
const DEFAULT_PATH = '/bin:/usr/bin'

export type ProgramLookup = { path: string } | { errno: 'ENOENT' | 'EACCES' }

/**
 * Finds the file that executing `name` would run: in the child's own PATH and seen from its own
 * working directory, as execvp does.
 */
export function findProgram(name: string, cwd: string, searchPath: string | undefined): ProgramLookup {
  if (name === '') return { errno: 'ENOENT' }
  if (name.includes('/')) return judge(resolve(cwd, name))
  let refusal: ProgramLookup = { errno: 'ENOENT' }
  for (const folder of (searchPath ?? DEFAULT_PATH).split(':')) {
    // An empty entry means the working directory.
    const found = judge(resolve(cwd, folder, name))
    if ('path' in found) return found
    if (found.errno === 'EACCES') refusal = found
  }
  return refusal
}

function judge(path: string): ProgramLookup {
  try {
    if (!statSync(path).isFile()) return { errno: 'EACCES' }
    accessSync(path, constants.X_OK)
    return { path }
  } catch (error) {
    return { errno: (error as NodeJS.ErrnoException).code === 'EACCES' ? 'EACCES' : 'ENOENT' }
  }
}
