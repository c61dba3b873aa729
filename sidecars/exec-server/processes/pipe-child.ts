import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Child, ChildEvents, ChildSpec, StdinKind } from './child.ts'
import { PipeOutput } from './pipe-output.ts'

/**
 * Starts a program on pipes, as leader of a process group and session of its own.
 * Rejects with the system's error when it cannot be executed.
 */
export async function startPipeChild(spec: ChildSpec, pipeStdin: boolean, events: ChildEvents): Promise<Child> {
  const [arg0 = spec.program, ...args] = spec.argv
  const child = spawn(spec.program, args, {
    argv0: arg0,
    cwd: spec.cwd,
    env: spec.environment,
    detached: true,
    stdio: [pipeStdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  })
  if (child.pid === undefined) return new Promise((_, reject) => child.once('error', reject))
  return new PipeChild(child, child.pid, pipeStdin ? 'pipe' : 'none', events)
}

class PipeChild implements Child {
  private readonly outputs: readonly PipeOutput[]
  private readonly input: Writable | null
  private openOutputs = 2

  constructor(
    child: ChildProcess,
    readonly pid: number,
    readonly stdin: StdinKind,
    events: ChildEvents,
  ) {
    // Only a failed kill or message could still raise it; we use neither.
    child.on('error', () => {})
    // One turn later: what the child printed last is then usually read, and stands before its exit.
    child.once('exit', (code, signal) => setImmediate(() => events.onExit({ code, signal })))
    this.input = child.stdin
    // A reader that went away; the exit says the rest.
    this.input?.on('error', () => {})
    this.outputs = (['stdout', 'stderr'] as const).map(
      (name) =>
        new PipeOutput(child[name] as Readable, {
          onBytes: (bytes, block) => events.onOutput(name, bytes, block),
          onEnd: () => {
            if (--this.openOutputs === 0) events.onOutputEnd()
          },
        }),
    )
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
