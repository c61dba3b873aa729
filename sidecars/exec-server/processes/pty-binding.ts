import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * The native half of @lydell/node-pty on Unix. Its JavaScript half is not used: it loses the end of the
 * output (it takes the hang-up of a terminal for the end of what is in it), adds variables to the
 * environment, and writes with calls that block the whole process when the child does not read.
 */
export interface PtyBinding {
  fork(
    file: string,
    args: string[],
    environment: string[],
    cwd: string,
    columns: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helperPath: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string }
  resize(fd: number, columns: number, rows: number): void
}

export interface LoadedPty {
  binding: PtyBinding
  /** macOS starts children through a small program beside the binding. */
  helperPath: string
}

let loaded: LoadedPty | undefined

/** @throws Error when there is no build of it for this system */
export function loadPty(): LoadedPty {
  if (loaded) return loaded
  const fromHere = createRequire(__filename)
  const fromPackage = createRequire(fromHere.resolve('@lydell/node-pty'))
  const file = fromPackage.resolve(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`)
  const helperPath = join(dirname(file), 'spawn-helper').replace('app.asar/', 'app.asar.unpacked/')
  loaded = { binding: fromPackage(file) as PtyBinding, helperPath }
  return loaded
}
