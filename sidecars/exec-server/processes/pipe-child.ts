import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { FifoPool, OpenPipe } from '../streams/fifo-pool.ts'
import { withoutMasters } from '../streams/terminal-masters.ts'
import type { Child, ChildEvents, ChildSpec, StdinKind } from './child.ts'
import { PipeOutput } from './pipe-output.ts'

/**
 * Starts a program on pipes, as leader of a process group and session of its own.
 * Rejects with the system's error when it cannot be executed.
 */
export async function startPipeChild(
  spec: ChildSpec,
  pipeStdin: boolean,
  fifos: FifoPool,
  events: ChildEvents,
): Promise<Child> {
  const [arg0 = spec.program, ...args] = spec.argv
  const pipes: ChildPipes = { stdin: undefined, outputs: [await fifos.open(), await fifos.open()] }
  if (pipeStdin) pipes.stdin = await fifos.open()
  const [stdout, stderr] = pipes.outputs
  try {
    const child = spawn(spec.program, args, {
      argv0: arg0,
      cwd: spec.cwd,
      env: spec.environment,
      detached: true,
      stdio: withoutMasters([
        pipes.stdin?.readFd ?? 'ignore',
        stdout.writeFd,
        stderr.writeFd,
        ...(spec.inheritedFds ?? []),
      ]),
    })
    if (child.pid === undefined)
      await new Promise((_, reject) => {
        child.once('error', reject)
      })
    closeChildEnds(pipes)
    return new PipeChild(child, pipes, fifos, events)
  } catch (error) {
    closeChildEnds(pipes)
    for (const { readFd } of pipes.outputs) closeSync(readFd)
    if (pipes.stdin) closeSync(pipes.stdin.writeFd)
    for (const { path } of [...pipes.outputs, ...(pipes.stdin ? [pipes.stdin] : [])]) fifos.giveBack(path)
    throw error
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
  private readonly input: Socket | undefined

  constructor(child: ChildProcess, { stdin, outputs }: ChildPipes, fifos: FifoPool, events: ChildEvents) {
    this.pid = child.pid as number
    this.stdin = stdin ? 'pipe' : 'none'
    this.openPaths = new Set(outputs.map(({ path }) => path))
    // Only a failed kill or message could still raise it; we use neither.
    child.on('error', () => {})
    child.once('exit', (code, signal) => this.tellExit(() => events.onExit({ code, signal })))
    this.input = stdin && new Socket({ fd: stdin.writeFd, readable: false, writable: true })
    // A reader that went away; the exit says the rest.
    this.input?.on('error', () => {})
    // The child and its children may have it open for long.
    if (stdin) fifos.remove(stdin.path)
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
    return this.input?.writableLength ?? 0
  }
  write(bytes: Buffer): void {
    if (this.input?.writable) this.input.write(bytes)
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
    this.input?.destroy()
    for (const output of this.outputs) output.dispose()
  }
}
