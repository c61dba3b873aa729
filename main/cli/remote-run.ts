import { randomUUID } from 'node:crypto'
import { unknown } from '../../sidecars/protocol/decode.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { Invokes } from '../../preload/api.ts'
import type { ControlClient } from '../control/control-client.ts'
import { runExited, runOutput, runStarted, type RunExited } from '../control/control-protocol.ts'
import { writeFully } from './write-fully.ts'

export type RunSignal = Invokes['processes.signal']['args'][1]

export interface RunCommand {
  argv: string[]
  cwd: string
  env: Record<string, string>
  tty: { columns: number; rows: number } | null
}

/**
 * A command that runs at the host, its output written to this process. While stdout or stderr cannot
 * take more, nothing is read from the host, which holds the command back.
 */
export class RemoteRun {
  /** Resolves after the last byte was written; `exitCode` is null when the host was lost. */
  readonly closed: Promise<RunExited>
  private readonly runId = randomUUID()
  private readonly cancel = new AbortController()
  private writing: Promise<void> = Promise.resolve()
  private isStarted = false

  constructor(private readonly client: ControlClient) {
    const { peer } = client
    this.closed = new Promise((resolve) => {
      peer.onNotification('run/output', runOutput, ({ stream, base64 }) =>
        this.print(stream === 'stderr' ? process.stderr : process.stdout, Buffer.from(base64, 'base64')),
      )
      peer.onNotification('run/exited', runExited, (exit) => void this.writing.then(() => resolve(exit)))
      void peer.closed.then(async ({ message }) => {
        await this.writing
        resolve({ runId: this.runId, exitCode: null, exitSignal: null, detail: `lost the host: ${message}` })
      })
    })
  }

  /** Resolves when it runs, with its session. Rejects with RpcError, `denied` for a no. */
  async start(command: RunCommand): Promise<string | undefined> {
    const { signal } = this.cancel
    const params = { runId: this.runId, ...command }
    const { sessionId } = await this.client.peer.request('run/start', params, runStarted, { signal })
    this.isStarted = true
    return sessionId
  }

  /** Before it runs, interrupt and terminate withdraw the request. */
  signal(name: RunSignal): void {
    if (this.isStarted) this.tell('run/signal', { signal: name })
    else if (name === 'interrupt' || name === 'terminate' || name === 'hangup') this.cancel.abort()
  }
  resize(columns: number, rows: number): void {
    this.tell('run/resize', { columns, rows })
  }
  /** Resolves when the command can take more input. */
  async write(bytes: Uint8Array): Promise<void> {
    const base64 = Buffer.from(bytes).toString('base64')
    await this.client.peer.request('run/write', { runId: this.runId, base64 }, unknown)
  }
  endInput(): void {
    this.tell('run/endInput', {})
  }

  /** Fails only when the command or the host has ended meanwhile, which `closed` tells. */
  private tell(method: string, params: object): void {
    this.client.peer.request(method, { runId: this.runId, ...params }, unknown).catch((error: unknown) => {
      if (!(error instanceof RpcError)) throw error
    })
  }

  private print(stream: NodeJS.WriteStream, bytes: Uint8Array): void {
    const { transport } = this.client.peer
    transport.pause()
    // A stream that fails ends this process (entry.ts), and with it the run.
    this.writing = this.writing.then(() => writeFully(stream, bytes)).then(() => transport.resume())
  }
}
