import { constants } from 'node:os'
import type { Child, ChildEvents, ChildSpec } from './child.ts'
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
export function startPtyChild(spec: ChildSpec, events: ChildEvents): Child {
  // The child itself could only print its failure and exit with 1.
  const found = findProgram(spec.program, spec.cwd, spec.environment.PATH)
  const problem = folderProblem(spec.cwd) ?? ('errno' in found ? found.errno : undefined)
  if ('errno' in found || problem !== undefined) throw Object.assign(new Error(problem), { code: problem })
  const { file, args } = withArg0(spec, found.path)
  return new PtyChild(loadPty(), file, args, spec, events)
}

/**
 * A terminal's program is started by name and sees that name. For another one, perl takes the place in
 * between: it changes nothing else and is gone when the program runs.
 */
function withArg0({ program, argv, cwd, environment }: ChildSpec, path: string): { file: string; args: string[] } {
  const [arg0, ...args] = argv
  if (arg0 === program || arg0 === undefined) return { file: program, args }
  const perl = findProgram('perl', cwd, environment.PATH)
  if ('errno' in perl)
    throw new Error(`arg0 of a process on a terminal needs perl, which was not found; leave arg0 out or use pipes`)
  return { file: perl.path, args: ['-e', 'my $program = shift; exec { $program } @ARGV', path, arg0, ...args] }
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
    private readonly pty: LoadedPty,
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
    const { binding, helperPath } = pty
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
    this.output = new PtyOutput(
      forked.fd,
      forked.pty,
      (bytes, block) => events.onOutput('pty', bytes, block),
      () => {
        this.dispose()
        // After the exit, which may be on its way.
        setImmediate(() => events.onOutputEnd())
      },
    )
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
    if (!this.isOver) this.pty.binding.resize(this.fd, columns, rows)
  }
  dispose(): void {
    if (this.isOver) return
    this.isOver = true
    this.input.dispose()
    this.output.dispose()
  }
}

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

function signalName(signal: number): NodeJS.Signals {
  return (SIGNAL_NAMES.get(signal) ?? `SIG${signal}`) as NodeJS.Signals
}
