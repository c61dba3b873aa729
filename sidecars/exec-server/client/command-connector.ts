import { spawn, type ChildProcess } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { LinesTransport } from '../../rpc/lines-transport.ts'
import type { CloseReason, Transport, TransportHandlers } from '../../rpc/transport.ts'
import type { ExecConnector } from './carrier.ts'

export interface CommandConnectorOptions {
  /** For example `ssh`, `docker` or `kubectl`. */
  program: string
  /** For example `['host', 'codex', 'exec-server', '--listen', 'stdio']`. */
  args?: string[]
  cwd?: string
  /** Default: this process's own. */
  env?: NodeJS.ProcessEnv
  /** Each line the program writes to stderr. */
  onStderrLine?: (line: string) => void
}

/** From SIGTERM to SIGKILL for a program that does not end by itself. */
const TERMINATE_GRACE_MS = 2000
/** The newest words of the program, for the error when it ends. */
const STDERR_TAIL_CHARS = 2000

/**
 * Starts a program that speaks the exec server's wire on its stdin and stdout. The program leads its
 * own process group, which ends with the connection.
 */
export function commandConnector(options: CommandConnectorOptions): ExecConnector {
  return (signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const { program, args = [] } = options
      const child = spawn(program, args, {
        cwd: options.cwd,
        env: options.env,
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
      })
      child.once('error', (error) => reject(new Error(`cannot start ${program}: ${error.message}`, { cause: error })))
      child.once('spawn', () => {
        if (!signal.aborted)
          return resolve({ transport: new CommandTransport(program, child, options), toleratesNoise: true })
        endGroup(child)
        reject(signal.reason as Error)
      })
    })
}

/** JSON lines over a child's stdio; closing it ends the child's group, its end closes it. */
class CommandTransport implements Transport {
  readonly label: string
  private readonly lines: LinesTransport
  private stderrTail = ''

  constructor(
    program: string,
    private readonly child: ChildProcess,
    options: CommandConnectorOptions,
  ) {
    const { stdin, stdout, stderr } = child
    if (!stdin || !stdout || !stderr) throw new Error(`${program} was started without pipes`)
    this.label = `exec server run by ${program}`
    this.lines = new LinesTransport(this.label, stdout, stdin)
    const decoder = new StringDecoder('utf8')
    let line = ''
    stderr.on('data', (bytes: Buffer) => {
      const text = decoder.write(bytes)
      this.stderrTail = (this.stderrTail + text).slice(-STDERR_TAIL_CHARS)
      const parts = (line + text).split('\n')
      line = (parts.pop() ?? '').slice(-STDERR_TAIL_CHARS)
      for (const part of parts) options.onStderrLine?.(part)
    })
    stderr.on('error', () => {
      // Only commentary was lost.
    })
  }

  get queuedBytes(): number {
    return this.lines.queuedBytes
  }

  start(handlers: TransportHandlers): void {
    this.lines.start({
      ...handlers,
      onClose: (reason) => {
        endGroup(this.child)
        void this.explain(reason).then(handlers.onClose)
      },
    })
  }
  send(text: string): boolean {
    return this.lines.send(text)
  }
  drained(): Promise<void> {
    return this.lines.drained()
  }
  pause(): void {
    this.lines.pause()
  }
  resume(): void {
    this.lines.resume()
  }
  close(message?: string): void {
    this.lines.close(message)
  }

  /** The program's end and last words tell more than "the pipe closed". */
  private async explain(reason: CloseReason): Promise<CloseReason> {
    if (reason.code === 'local') return reason
    await ended(this.child, TERMINATE_GRACE_MS)
    const { exitCode, signalCode } = this.child
    const how = signalCode ? `was ended by ${signalCode}` : `ended with exit code ${exitCode ?? 'unknown'}`
    const words = this.stderrTail.trim()
    return { ...reason, message: `the program ${how}${words === '' ? '' : `: ${words.split('\n').at(-1)}`}` }
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function ended(child: ChildProcess, withinMs: number): Promise<void> {
  if (hasEnded(child)) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Closing stdin is the polite end; who does not take it is asked, then made to go. */
function endGroup(child: ChildProcess): void {
  if (child.pid === undefined || hasEnded(child)) return
  const { pid } = child
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      process.kill(-pid, signal)
    } catch {
      // The group has ended between the check and here.
    }
  }
  child.stdin?.end()
  const term = setTimeout(() => signalGroup('SIGTERM'), TERMINATE_GRACE_MS / 4)
  const kill = setTimeout(() => signalGroup('SIGKILL'), TERMINATE_GRACE_MS)
  child.once('exit', () => {
    clearTimeout(term)
    clearTimeout(kill)
  })
}
