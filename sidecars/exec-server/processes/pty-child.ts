import type { Child, ChildEvents, ChildSpec } from './child.ts'
import { signalName } from './exit-status.ts'
import type { FloodReader } from './flood-reader.ts'
import { noteMaster, openMasters } from '../streams/terminal-masters.ts'
import { findProgram } from './program-path.ts'
import { loadPty, type LoadedPty } from './pty-binding.ts'
import { PtyInput } from './pty-input.ts'
import { PtyOutput } from './pty-output.ts'
import { folderProblem } from './spawn-failure.ts'

/** The size of a terminal until somebody resizes it. */
export const DEFAULT_COLUMNS = 80
export const DEFAULT_ROWS = 24
const END_OF_FILE = Buffer.from([4])

/**
 * Starts a program on a terminal of its own, as leader of its session.
 * @throws an error with the system's code when it cannot be executed
 */
export function startPtyChild(spec: ChildSpec, floods: FloodReader, events: ChildEvents): Child {
  // The child itself could only print its failure and exit with 1.
  const found = findProgram(spec.program, spec.cwd, spec.environment.PATH)
  const problem = folderProblem(spec.cwd) ?? ('errno' in found ? found.errno : undefined)
  if ('errno' in found || problem !== undefined) throw Object.assign(new Error(problem), { code: problem })
  const { file, args, environment } = launched(spec, found.path)
  return new PtyChild({ pty: loadPty(), floods }, file, args, { ...spec, environment }, events)
}

/**
 * What the terminal is started with. Its maker can neither give a program another name than its own nor keep
 * the masters of other terminals from it: for that perl takes the place in between, changes nothing else and is
 * gone when the program runs.
 */
function launched(
  spec: ChildSpec,
  path: string,
): { file: string; args: string[]; environment: ChildSpec['environment'] } {
  const { program, environment } = spec
  const [arg0 = program, ...args] = spec.argv
  const masters = spec.closesInherited ? [] : openMasters()
  if (arg0 === program && masters.length === 0) return { file: program, args, environment }
  const perl = findProgram('perl', '/', process.env.PATH)
  if ('path' in perl) return throughPerl(perl.path, { path, argv: [arg0, ...args], environment, masters })
  if (arg0 !== program)
    throw new Error(`arg0 of a process on a terminal needs perl, which was not found; leave arg0 out or use pipes`)
  // It may do what its user may, and that is to open those terminals by other ways.
  return { file: program, args, environment }
}

/** Arguments: descriptors to close, the program, the number of variables that follow, these, what it sees as argv. */
const PERL_SCRIPT = `
my ($masters, $program, $count) = splice @ARGV, 0, 3;
for (split /,/, $masters) { open(my $master, "<&=", $_) and close $master }
delete $ENV{PERL_BADLANG};
for (splice @ARGV, 0, $count) { my ($name, $value) = split /=/, $_, 2; $ENV{$name} = $value }
exec { $program } @ARGV;
die "$program: $!\n"`

interface PerlStart {
  path: string
  argv: readonly string[]
  environment: ChildSpec['environment']
  masters: readonly number[]
}

/** Variables that perl itself would obey travel as arguments; and it is not to complain about an unknown language. */
function throughPerl(perl: string, { path, argv, environment, masters }: PerlStart) {
  const [forPerl, others] = [true, false].map((isForPerl) =>
    Object.entries(environment).filter(([name]) => name.startsWith('PERL') === isForPerl),
  ) as [[string, string][], [string, string][]]
  const hidden = forPerl.map(([name, value]) => `${name}=${value}`)
  return {
    file: perl,
    args: ['-e', PERL_SCRIPT, masters.join(','), path, String(hidden.length), ...hidden, ...argv],
    environment: { ...Object.fromEntries(others), PERL_BADLANG: '0' },
  }
}

class PtyChild implements Child {
  readonly pid: number
  readonly stdin = 'tty'
  private readonly slavePath: string
  private readonly fd: number
  private readonly output: PtyOutput
  private readonly input: PtyInput
  private isOver = false

  constructor(
    private readonly parts: { pty: LoadedPty; floods: FloodReader },
    file: string,
    args: string[],
    { cwd, environment, terminal }: ChildSpec,
    events: ChildEvents,
  ) {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
    const onExit = (code: number, signal: number) => {
      this.output.childEnded()
      events.onExit(signal === 0 ? { code, signal: null } : { code: null, signal: signalName(signal) })
    }
    const { binding, helperPath } = parts.pty
    const forked = binding.fork(
      file,
      args,
      variables,
      cwd,
      terminal?.columns ?? DEFAULT_COLUMNS,
      terminal?.rows ?? DEFAULT_ROWS,
      -1,
      -1,
      true,
      helperPath,
      onExit,
    )
    this.pid = forked.pid
    this.slavePath = forked.pty
    this.fd = forked.fd
    noteMaster(forked.fd)
    this.output = new PtyOutput(forked.fd, forked.pty, parts.floods, {
      onOutput: (bytes, block) => events.onOutput('pty', bytes, block),
      onEnd: () => {
        this.dispose()
        // After the exit, which may be on its way.
        setImmediate(() => events.onOutputEnd())
      },
    })
    this.input = new PtyInput(forked.fd, () => this.output.slaveFd)
  }

  get outputPaths(): readonly string[] {
    return this.isOver ? [] : [this.slavePath]
  }
  get queuedInputBytes(): number {
    return this.input.queuedBytes
  }
  write(bytes: Buffer): void | Promise<void> {
    return this.input.write(bytes)
  }
  endInput(): void {
    void this.input.write(END_OF_FILE)
  }
  pause(): void {
    this.output.pause()
  }
  resume(): void {
    this.output.resume()
  }
  resize(columns: number, rows: number): void {
    if (!this.isOver) this.parts.pty.binding.resize(this.fd, columns, rows)
  }
  dispose(): void {
    if (this.isOver) return
    this.isOver = true
    this.input.dispose()
    this.output.dispose()
  }
}
