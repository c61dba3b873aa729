import { spawn, type ChildProcess } from 'node:child_process'
import type { OutputChunk, ProcessExit, ProcessOutput, ReadOptions, ReadOutput } from '../exec-server/client/index.ts'
import type { WriteStatus } from '../protocol/exec-process.ts'
import type { OutputStream } from '../protocol/host-channel.ts'
import { RpcError } from '../rpc/rpc-error.ts'
import type { CommandStart, ExecPort, StartedProcess } from '../mcp-server/processes/exec-port.ts'

/** Decides about one command; rejects with RpcError to refuse it. */
export type Gate = (command: CommandStart, signal: AbortSignal) => Promise<void>

/**
 * An exec server in one object, for tests of what stands in front of one: real child processes on
 * pipes, and a gate that the test holds.
 */
export class LocalExec implements ExecPort {
  gate: Gate = () => Promise.resolve()
  downBecause: string | null = null
  readonly asked: CommandStart[] = []
  readonly processes: LocalProcess[] = []

  async start(command: CommandStart, signal: AbortSignal): Promise<StartedProcess> {
    if (this.downBecause !== null) throw new RpcError('unavailable', this.downBecause)
    this.asked.push(command)
    await this.gate(command, signal)
    const process = await LocalProcess.spawn(command)
    this.processes.push(process)
    return process
  }

  check(): Promise<string | null> {
    return Promise.resolve(this.downBecause)
  }

  /** Ends everything that still runs. */
  async dispose(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.terminate()))
  }
}

/** A gate that asks nobody until the test answers. */
export class HeldGate {
  private readonly waiting: { resolve(): void; reject(error: unknown): void }[] = []
  readonly withdrawn: CommandStart[] = []

  readonly ask: Gate = (command, signal) =>
    new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject })
      const withdraw = () => {
        this.withdrawn.push(command)
        reject(new RpcError('cancelled', 'withdrawn'))
      }
      if (signal.aborted) withdraw()
      else signal.addEventListener('abort', withdraw, { once: true })
    })

  get pending(): number {
    return this.waiting.length
  }
  allow(): void {
    this.waiting.shift()?.resolve()
  }
  deny(words: string): void {
    this.waiting.shift()?.reject(new RpcError('denied', words))
  }
}

export class LocalProcess implements StartedProcess {
  readonly exited: Promise<ProcessExit>
  readonly closed: Promise<void>
  private readonly chunks: OutputChunk[] = []
  private readonly waiters = new Set<() => void>()
  private seq = 0
  private exit: ProcessExit | null = null
  private isClosed = false

  private constructor(private readonly child: ChildProcess) {
    this.collect('stdout', child.stdout)
    this.collect('stderr', child.stderr)
    this.exited = new Promise((resolve) =>
      child.once('exit', (code) => {
        this.seq++
        this.exit = { exitCode: code ?? 137, sandboxDenied: false }
        resolve(this.exit)
        this.wake()
      }),
    )
    this.closed = new Promise((resolve) =>
      child.once('close', () => {
        this.seq++
        this.isClosed = true
        resolve()
        this.wake()
      }),
    )
  }

  static spawn({ argv: [program = '', ...args], cwd, env, pipeStdin }: CommandStart): Promise<LocalProcess> {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: [pipeStdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    })
    return new Promise((resolve, reject) => {
      child.once('spawn', () => resolve(new LocalProcess(child)))
      child.once('error', (error) => reject(new RpcError('internal', error.message, { kind: 'spawnNotFound' })))
    })
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  async *readOutput(): AsyncGenerator<ProcessOutput, void, void> {
    for (let at = 0; ;) {
      const chunk = this.chunks[at]
      if (chunk) {
        at++
        yield chunk
      } else if (this.isClosed) return
      else await this.changed()
    }
  }

  async read(afterSeq: number, { maxBytes = Infinity, waitMs = 0, signal }: ReadOptions = {}): Promise<ReadOutput> {
    const behind = () => this.chunks.filter((chunk) => chunk.seq > afterSeq)
    const deadlineMs = performance.now() + waitMs
    while (behind().length === 0 && !this.isClosed && performance.now() < deadlineMs)
      await Promise.race([this.changed(), new Promise((resolve) => setTimeout(resolve, 20))])
    signal?.throwIfAborted()
    const chunks: OutputChunk[] = []
    let sizeBytes = 0
    for (const chunk of behind()) {
      if (chunks.length > 0 && sizeBytes + chunk.bytes.length > maxBytes) break
      chunks.push(chunk)
      sizeBytes += chunk.bytes.length
    }
    return {
      chunks,
      nextSeq: (chunks.at(-1)?.seq ?? this.seq) + 1,
      exited: this.exit !== null,
      exitCode: this.exit?.exitCode ?? null,
      closed: this.isClosed,
      sandboxDenied: false,
      failure: null,
    }
  }

  async write(bytes: Uint8Array): Promise<WriteStatus> {
    if (!this.child.stdin) return 'stdinClosed'
    this.child.stdin.write(bytes)
    return 'accepted'
  }

  async endInput(): Promise<WriteStatus> {
    if (!this.child.stdin) return 'stdinClosed'
    this.child.stdin.end()
    return 'accepted'
  }

  async interrupt(): Promise<void> {
    this.signalGroup('SIGINT')
  }

  async terminate(): Promise<{ running: boolean }> {
    const running = this.exit === null
    this.signalGroup('SIGKILL')
    return { running }
  }

  private signalGroup(signal: NodeJS.Signals): void {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, signal)
    } catch {
      // The group has ended.
    }
  }

  private collect(stream: OutputStream, source: NodeJS.ReadableStream | null): void {
    source?.on('data', (bytes: Buffer) => {
      this.chunks.push({ kind: 'output', seq: ++this.seq, stream, bytes })
      this.wake()
    })
  }

  private changed(): Promise<void> {
    return new Promise((resolve) => this.waiters.add(resolve))
  }

  private wake(): void {
    for (const wake of this.waiters) wake()
    this.waiters.clear()
  }
}
