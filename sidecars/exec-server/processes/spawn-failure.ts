import { accessSync, constants, statSync } from 'node:fs'
import type { SpawnErrorKind } from '../../protocol/exec-process.ts'
import { WireError } from '../wire/wire-error.ts'
import type { ChildSpec } from './child.ts'

/** MAX_ARG_STRLEN of Linux: one argument or variable, its ending zero included. */
export const MAX_ARGUMENT_BYTES = 128 * 1024

/** PATH_MAX of Linux: folders of the search path with longer names are passed over. */
const MAX_PATH_BYTES = 4096

const OS_TEXT: Record<string, string> = {
  ENOENT: 'No such file or directory (os error 2)',
  E2BIG: 'Argument list too long (os error 7)',
  ENOEXEC: 'Exec format error (os error 8)',
  EAGAIN: 'Resource temporarily unavailable (os error 11)',
  ENOMEM: 'Cannot allocate memory (os error 12)',
  EACCES: 'Permission denied (os error 13)',
  ENOTDIR: 'Not a directory (os error 20)',
  EMFILE: 'Too many open files (os error 24)',
  ELOOP: 'Too many levels of symbolic links (os error 40)',
}

/**
 * The answer to a process that could not be started. Says what the system said, and which of program
 * and working directory it was about: the system itself does not tell.
 */
export function spawnFailure(error: NodeJS.ErrnoException, spec: ChildSpec): WireError {
  const folder = folderProblem(spec.cwd)
  if (folder) return refuse(folder, `working directory ${spec.cwd}: `, { part: 'cwd', path: spec.cwd })
  const code = error.code ?? 'UNKNOWN'
  if (code === 'E2BIG') return tooBig(spec)
  return refuse(code, '', { part: 'program', path: spec.program }, error.message)
}

/** Names the first argument or variable that no program can be given; undefined when all fit. */
export function oversizedArgument(spec: ChildSpec): WireError | undefined {
  const parts = argumentSizes(spec)
  const worst = parts.find(({ sizeBytes }) => sizeBytes >= MAX_ARGUMENT_BYTES)
  return worst && tooBig(spec, worst)
}

/**
 * The answer to a program that no folder of PATH is searched for, since each has a name longer than a path may
 * be; undefined when one is. The C library fails there without saying why, which Node (20, libuv 1.46) takes for a
 * start: the process would neither run nor ever end.
 */
export function searchedNowhere({ program, environment: { PATH } }: ChildSpec): WireError | undefined {
  if (program.includes('/') || PATH === undefined) return undefined
  if (PATH.split(':').some((folder) => Buffer.byteLength(folder) < MAX_PATH_BYTES - 1)) return undefined
  return refuse('ENOENT', 'no folder of PATH can be searched: ', { part: 'program', path: program })
}

function refuse(code: string, prefix: string, subject: Record<string, unknown>, fallback = code): WireError {
  const kind: SpawnErrorKind =
    code === 'ENOENT' ? 'spawnNotFound' : code === 'EACCES' ? 'spawnPermissionDenied' : 'spawnFailed'
  return new WireError('internal', prefix + (OS_TEXT[code] ?? fallback), { kind, ...subject })
}

/** The code of the error that changing to `cwd` would give; undefined when it would work. */
export function folderProblem(cwd: string): string | undefined {
  try {
    if (!statSync(cwd).isDirectory()) return 'ENOTDIR'
    accessSync(cwd, constants.X_OK)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

interface ArgumentSize {
  part: string
  sizeBytes: number
}

function argumentSizes({ argv, environment }: ChildSpec): ArgumentSize[] {
  return [
    ...argv.map((text, index) => ({ part: `argv[${index}]`, sizeBytes: Buffer.byteLength(text) })),
    ...Object.entries(environment).map(([name, value]) => ({
      part: `env.${name}`,
      sizeBytes: Buffer.byteLength(name) + 1 + Buffer.byteLength(value),
    })),
  ]
}

function tooBig(spec: ChildSpec, worst?: ArgumentSize): WireError {
  const parts = argumentSizes(spec)
  const totalBytes = parts.reduce((sum, { sizeBytes }) => sum + sizeBytes + 1, 0)
  const { part, sizeBytes } =
    worst ??
    parts.reduce((most, next) => (next.sizeBytes > most.sizeBytes ? next : most), { part: 'argv', sizeBytes: 0 })
  const limit = worst
    ? `one argument or variable may have ${MAX_ARGUMENT_BYTES - 1} bytes; hand the text over on stdin or in a file`
    : `the largest of ${totalBytes} bytes of arguments and variables`
  return new WireError('internal', `${OS_TEXT.E2BIG}: ${part} has ${sizeBytes} bytes, ${limit}`, {
    kind: 'spawnFailed' satisfies SpawnErrorKind,
    part,
    sizeBytes,
    totalBytes,
  })
}
