import { findProgram } from '../processes/program-path.ts'

/** A command as bwrap is to start it. */
export interface WrappedCommand {
  /** Looked up inside, in the command's own PATH. */
  program: string
  /** [0] is the name the program sees for itself. */
  argv: readonly string[]
  searchPath: string | undefined
  cwd: string
}

/**
 * The words behind bwrap's `--`. bwrap 0.8 starts a program under its own name only: for another one perl
 * takes the place in between, changes nothing else and is gone when the program runs.
 * @throws Error when perl would be needed and is not there
 */
export function commandWords({ program, argv, searchPath, cwd }: WrappedCommand): string[] {
  if (argv[0] === program) return [...argv]
  const perl = findProgram('perl', cwd, searchPath)
  if (!('path' in perl)) throw new Error('arg0 of a sandboxed process needs perl, which was not found; leave arg0 out')
  return [perl.path, '-e', 'my $program = shift; exec { $program } @ARGV; die "$program: $!\\n"', program, ...argv]
}

/**
 * For a terminal. Ctrl-C reaches everybody in the foreground, bwrap's own process too, and with it the
 * exit code of the command would be lost: so bwrap ignores it, and `env` undoes that for the command,
 * since a shell cannot undo what it found ignored.
 */
export const TERMINAL_SCRIPT = `trap '' INT QUIT
exec 3<"$1" 4<"$2"
rm -f -- "$1"
shift 2
exec "$@"`

/** @param env path of env(1) as it is seen inside */
export function undoIgnored(env: string, words: readonly string[], perl: string | undefined): string[] {
  const [first = '', ...rest] = words
  // env would take a name with "=" for a variable.
  if (first.includes('=') && perl !== undefined)
    return [
      env,
      '--default-signal=INT,QUIT',
      perl,
      '-e',
      'exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\\n"',
      first,
      ...rest,
    ]
  return [env, '--default-signal=INT,QUIT', ...words]
}
