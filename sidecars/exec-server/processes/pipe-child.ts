import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { holdersOf } from '../life/proc-stat.ts'
import type { FifoPool, OpenPipe } from '../streams/fifo-pool.ts'
import { withoutMasters } from '../streams/terminal-masters.ts'
import type { Child, ChildEvents, ChildSpec, StdinKind } from './child.ts'
import { PipeInput } from './pipe-input.ts'
import { PipeOutput } from './pipe-output.ts'
import { SpawnerLostError, type Launched, type Spawner } from './spawner.ts'

/** What starts programs on pipes. */
export interface PipeStart {
  fifos: FifoPool
  spawner: Spawner
}

/**
 * Starts a program on pipes, as leader of a process group and session of its own.
 * Rejects with the system's error when it cannot be executed.
 */
export async function startPipeChild(
  spec: ChildSpec,
  pipeStdin: boolean,
  { fifos, spawner }: PipeStart,
  events: ChildEvents,
): Promise<Child> {
  const pipes: ChildPipes = { stdin: undefined, outputs: [await fifos.open(), await fifos.open()] }
  if (pipeStdin) pipes.stdin = await fifos.open()
  const [stdout, stderr] = pipes.outputs
  try {
    const paths = { stdin: pipes.stdin?.path, stdout: stdout.path, stderr: stderr.path }
    const launched = (await spawner.launch(spec, paths)) ?? (await launchDirectly(spec, pipes))
    closeChildEnds(pipes)
    return new PipeChild(launched, pipes, fifos, events)
  } catch (error) {
    closeChildEnds(pipes)
    const isLost = error instanceof SpawnerLostError
    // It may run all the same; then it has these open, and nobody else has.
    if (isLost) for (const pid of holdersOf([stdout.path, stderr.path])) killIfThere(pid)
    for (const { readFd } of pipes.outputs) closeSync(readFd)
    if (pipes.stdin) closeSync(pipes.stdin.writeFd)
    for (const { path } of [...pipes.outputs, ...(pipes.stdin ? [pipes.stdin] : [])])
      if (isLost) fifos.remove(path)
      else fifos.giveBack(path)
    throw error
  }
}

/** As a child of the server itself. */
async function launchDirectly(
  { program, argv, cwd, environment, inheritedFds = [], closingWords }: ChildSpec,
  { stdin, outputs: [stdout, stderr] }: ChildPipes,
): Promise<Launched> {
  const closing = closingWords?.() ?? []
  const [arg0 = program, ...args] = [...closing, ...argv]
  const child = spawn(closing[0] ?? program, args, {
    argv0: arg0,
    cwd,
    env: environment,
    detached: true,
    stdio: withoutMasters([stdin?.readFd ?? 'ignore', stdout.writeFd, stderr.writeFd, ...inheritedFds]),
  })
  const { pid } = child
  if (pid === undefined)
    return new Promise((_, reject) => {
      child.once('error', reject)
    })
  // Only a failed kill or message could still raise it; we use neither.
  child.on('error', () => {})
  return { pid, whenExited: (listener) => child.once('exit', (code, signal) => listener({ code, signal })) }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

interface ChildPipes {
  stdin: OpenPipe | undefined
  outputs: readonly [OpenPipe, OpenPipe]
}

function closeChildEnds({ stdin, outputs }: ChildPipes): void {
  for (const { writeFd } of outputs) closeSync(writeFd)
  if (stdin) closeSync(stdin.readFd)
}

class PipeChild implements Child {
  readonly pid: number
  readonly stdin: StdinKind
  private readonly openPaths: Set<string>
  private readonly outputs: readonly PipeOutput[]
  private readonly input: PipeInput | undefined
  private readonly inputPath: string | undefined

  constructor(
    launched: Launched,
    { stdin, outputs }: ChildPipes,
    private readonly fifos: FifoPool,
    events: ChildEvents,
  ) {
    this.inputPath = stdin?.path
    this.pid = launched.pid
    this.stdin = stdin ? 'pipe' : 'none'
    this.openPaths = new Set(outputs.map(({ path }) => path))
    launched.whenExited((exit) => this.tellExit(() => events.onExit(exit)))
    this.input = stdin && new PipeInput(stdin.writeFd, stdin.path)
    this.outputs = (['stdout', 'stderr'] as const).map((name, i) => {
      const { readFd, path } = outputs[i] as OpenPipe
      return new PipeOutput(readFd, {
        onBytes: (bytes, block) => events.onOutput(name, bytes, block),
        onEnd: (isEmpty) => {
          this.openPaths.delete(path)
          if (isEmpty) fifos.giveBack(path)
          else fifos.remove(path)
          if (this.openPaths.size === 0) events.onOutputEnd()
        },
      })
    })
  }

  /**
   * What the child printed before it ended stands before its exit where that costs no waiting: one whole
   * turn of the event loop, with a look at the pipes in it.
   */
  private tellExit(tell: () => void): void {
    if (this.openPaths.size === 0) tell()
    else setImmediate(() => setImmediate(tell))
  }

  get outputPaths(): readonly string[] {
    return [...this.openPaths]
  }
  get queuedInputBytes(): number {
    return this.input?.queuedBytes ?? 0
  }
  write(bytes: Buffer): void {
    this.input?.write(bytes)
  }
  endInput(): void {
    this.input?.end()
  }
  pause(): void {
    for (const output of this.outputs) output.pause()
  }
  resume(): void {
    for (const output of this.outputs) output.resume()
  }
  resize(): void {}
  dispose(): void {
    this.input?.dispose()
    // The child's children may have it open for long.
    if (this.inputPath !== undefined) this.fifos.remove(this.inputPath)
    for (const output of this.outputs) output.dispose()
  }
}
