import { findProgram } from '../processes/program-path.ts'
import { unavailable } from './sandbox.ts'

/** A command as bwrap is to start it. */
export interface WordedCommand {
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
export function commandWords({ program, argv, searchPath, cwd }: WordedCommand): string[] {
  if (argv[0] === program) return [...argv]
  const perl = findProgram('perl', cwd, searchPath)
  if (!('path' in perl)) throw new Error('arg0 of a sandboxed process needs perl, which was not found; leave arg0 out')
  return [perl.path, '-e', 'my $program = shift; exec { $program } @ARGV; die "$program: $!\\n"', program, ...argv]
}

/**
 * For a terminal: opens what bwrap reads and removes it. Ctrl-C reaches everybody in the foreground,
 * bwrap's own process too, and with it the exit code of the command would be lost: so bwrap ignores it.
 */
export const TERMINAL_SCRIPT = `trap '' INT QUIT
exec 3<"$1" 4<"$2"
rm -f -- "$1"
shift 2
exec "$@"`

/**
 * Lets the command itself hear what {@link TERMINAL_SCRIPT} ignores; a shell could not, it cannot undo
 * what it found ignored.
 * @throws WireError when env(1) is missing
 */
export function hearingWords(words: readonly string[], env: string | undefined, perl: string | undefined): string[] {
  if (env === undefined) throw unavailable('env (coreutils) was not found; sandboxed commands on a terminal need it')
  const hearing = [env, '--default-signal=INT,QUIT']
  // env would take a name with "=" for a variable.
  if (!words[0]?.includes('=')) return [...hearing, ...words]
  if (perl === undefined)
    throw unavailable(`a program named "${words[0]}" on a terminal needs perl, which was not found`)
  return [...hearing, perl, '-e', 'exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\\n"', ...words]
}

/**
 * Closes descriptors before bwrap runs. A shell knows those up to 9 only.
 * @throws WireError when perl is missing
 */
export function closingWords(descriptors: readonly number[], perl: string | undefined): string[] {
  if (perl === undefined)
    throw unavailable('perl was not found; it is needed to keep open files of the server from a sandboxed command')
  const script =
    'for (split /,/, shift) { open(my $stray, "<&=", $_) and close $stray } exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\\n"'
  return [perl, '-e', script, descriptors.join(',')]
}
