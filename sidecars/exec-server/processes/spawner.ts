import { spawn, type ChildProcess } from 'node:child_process'
import { fstatSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import type { ChildExit, ChildSpec } from './child.ts'
import { signalName } from './exit-status.ts'
import { findProgram } from './program-path.ts'
import { FAILED_STREAMS, MAX_INHERITED, SPAWNER_SCRIPT } from './spawner-script.ts'

/** Pipes of a child by name, to be held open by the caller until the child runs. */
export interface StreamPaths {
  /** None: stdin is empty. */
  stdin: string | undefined
  stdout: string
  stderr: string
}

/** A program that runs. */
export interface Launched {
  readonly pid: number
  /** Calls `listener` once, when it has ended; at once when that has been. */
  whenExited(listener: (exit: ChildExit) => void): void
}

/** The spawner went away before it said what became of a start: the program may run or not. */
export class SpawnerLostError extends Error {
  override readonly name = 'SpawnerLostError'
  constructor() {
    super('the helper that starts processes was killed during this start; start it again')
  }
}

const LOST = 'killed, because the helper that had started it was killed'

/**
 * A small process that starts programs on pipes for the server, so that a start costs the same however
 * large the server is, and does not keep it from other work meanwhile. Runs from the first start on; that one
 * and those until it is ready are the caller's. When it is killed, so are the programs that it has started,
 * because nobody could tell any more how they ended; the next start brings a new one.
 *
 * Linux with perl only. Elsewhere there is none, and the caller starts everything.
 */
export class Spawner {
  private helper: ChildProcess | undefined
  private isReady = false
  /** It cannot be had here. */
  private isUnable = process.platform !== 'linux'
  private unread = ''
  private ids = 0
  private readonly starting = new Map<number, { resolve(launched: Running): void; reject(error: Error): void }>()
  private readonly living = new Map<number, Running>()

  /**
   * Starts a program as leader of a session and a group of its own. Undefined when it is not to be had now or for
   * this program, or could not get at the streams: then nothing has happened and the caller starts it.
   * Rejects with the system's error when the program cannot be executed.
   * @throws SpawnerLostError by way of the promise
   */
  launch(spec: ChildSpec, streams: StreamPaths): Promise<Launched | undefined> | undefined {
    const { inheritedFds = [], program } = spec
    if (program === '' || inheritedFds.length > MAX_INHERITED) return undefined
    if (!this.helper) this.start()
    if (!this.isReady) return undefined
    const id = ++this.ids
    this.helper?.stdin?.write(requestOf(id, spec, streams))
    return new Promise<Running>((resolve, reject) => this.starting.set(id, { resolve, reject })).catch(
      (error: unknown) => {
        if (error instanceof StreamsError) return undefined
        throw error instanceof ErrnoError ? systemError(error.errno, program) : error
      },
    )
  }

  /** Lets it go: it kills what it has started and ends. */
  close(): void {
    this.isUnable = true
    this.helper?.stdin?.end()
  }

  private start(): void {
    if (this.isUnable) return
    const perl = findProgram('perl', '/', process.env.PATH)
    if (!('path' in perl)) {
      this.isUnable = true
      return
    }
    const helper = spawn(perl.path, ['-e', SPAWNER_SCRIPT], {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.helper = helper
    helper.on('error', () => {})
    // What could not be written is told by its end.
    helper.stdin.on('error', () => {})
    helper.stdout.on('error', () => {})
    helper.stdout.on('data', (bytes: Buffer) => this.read(bytes.toString('latin1')))
    helper.once('close', () => this.lost())
  }

  private read(text: string): void {
    const lines = (this.unread + text).split('\n')
    this.unread = lines.pop() as string
    for (const line of lines) this.hear(line.split(' '))
  }

  private hear([word, idText, ...numbers]: string[]): void {
    const id = Number(idText)
    const [first = 0, second = 0] = numbers.map(Number)
    if (word === 'ready') this.isReady = true
    else if (word === 'started') {
      const running = new Running(first)
      this.living.set(id, running)
      this.starting.get(id)?.resolve(running)
      this.starting.delete(id)
    } else if (word === 'failed') {
      this.starting.get(id)?.reject(second === FAILED_STREAMS ? new StreamsError() : new ErrnoError(first))
      this.starting.delete(id)
    } else if (word === 'ended') {
      this.living.get(id)?.ended(exitOf(first))
      this.living.delete(id)
    }
  }

  private lost(): void {
    // One that never was ready never will be.
    if (!this.isReady) this.isUnable = true
    this.helper = undefined
    this.isReady = false
    this.unread = ''
    for (const { reject } of this.starting.values()) reject(new SpawnerLostError())
    this.starting.clear()
    const orphans = [...this.living.values()]
    this.living.clear()
    for (const orphan of orphans) {
      killGroup(orphan.pid)
      orphan.ended({ code: null, signal: 'SIGKILL', detail: LOST })
    }
  }
}

class Running implements Launched {
  private exit: ChildExit | undefined
  private listener: ((exit: ChildExit) => void) | undefined

  constructor(readonly pid: number) {}

  whenExited(listener: (exit: ChildExit) => void): void {
    if (this.exit) listener(this.exit)
    else this.listener = listener
  }
  ended(exit: ChildExit): void {
    this.exit = exit
    this.listener?.(exit)
  }
}

/** Its child could not open what it was to be given. */
class StreamsError extends Error {}
class ErrnoError extends Error {
  constructor(readonly errno: number) {
    super()
  }
}

function requestOf(
  id: number,
  { cwd, inheritedFds = [], program, argv, environment }: ChildSpec,
  streams: StreamPaths,
) {
  const text = [
    String(id),
    cwd,
    streams.stdin ?? '',
    streams.stdout,
    streams.stderr,
    inheritedFds.map(handedOver).join(','),
    String(argv.length),
    program,
    ...argv,
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
  ].join('\0')
  const sizeBytes = Buffer.byteLength(text)
  const request = Buffer.allocUnsafe(4 + sizeBytes)
  request.writeUInt32BE(sizeBytes, 0)
  request.write(text, 4, sizeBytes, 'utf8')
  return request
}

/** Where the spawner finds a descriptor of ours, and how it knows that it is this one. */
function handedOver(fd: number): string {
  const { dev, ino } = fstatSync(fd, { bigint: true })
  return `/proc/${process.pid}/fd/${fd}:${dev}:${ino}`
}

/** The status of wait(2): a signal in the low seven bits, otherwise a code in the byte above. */
function exitOf(status: number): ChildExit {
  const signal = status & 0x7f
  return signal === 0 ? { code: status >> 8, signal: null } : { code: null, signal: signalName(signal) }
}

/** As Node tells it of its own starts. */
function systemError(errno: number, program: string): Error {
  // The C library gives none when no folder of PATH could be searched.
  const code = errno === 0 ? 'ENOENT' : getSystemErrorName(-errno)
  return Object.assign(new Error(`spawn ${program} ${code}`), { code })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
