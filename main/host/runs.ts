import { randomBytes } from 'node:crypto'
import type { ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import {
  ExecClient,
  unixSocketConnector,
  type ExecProcess,
  type ProcessOutput,
} from '../../sidecars/exec-server/client/index.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { subjectLine } from '../audit/subject-line.ts'
import type { RunEnd, RunHandle, RunRequest, RunSink } from '../control/controlled-host.ts'
import type { Processes } from '../processes/processes.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ExecServerClient } from '../sidecar-clients/exec-server-client.ts'
import { whenReady, type SidecarLink } from '../sidecar-clients/sidecar-link.ts'
import { Brake } from './brake.ts'

/** An exec server that crashed is back within this, unless it crashes again and again. */
const READY_MS = 12_000
/** Its row says how a process ended a moment after its last output. */
const LAST_NEWS_MS = 2_000

export interface RunsOptions {
  execLink: SidecarLink
  exec: ExecServerClient
  socketPath: string
  internalToken: string
  sessions: Sessions
  processes: Processes
}

/** Commands of the owner (`gatehouse run`): each a session of its own, through the same gate as agents. */
export class Runs {
  /** One client for each life of the exec server: a session does not outlive it. */
  private client: { exec: ExecClient; generation: number } | undefined
  private readonly processOf = new Map<SessionId, ProcessId>()

  constructor(private readonly options: RunsOptions) {}

  /** The gate was asked about a command: a run learns its process before its output begins. */
  noteCommand(sessionId: SessionId, processId: ProcessId): void {
    if (this.processOf.has(sessionId)) this.processOf.set(sessionId, processId)
  }

  /**
   * Starts a command. Rejects with `denied` and the reason when a rule says no, with the exec server's
   * error when it cannot be started.
   */
  async start(request: RunRequest, sink: RunSink): Promise<RunHandle> {
    const { sessions, execLink } = this.options
    const sessionId = `ses_${randomBytes(8).toString('hex')}` as SessionId
    const title = subjectLine({ kind: 'command', ...EMPTY_SUBJECT, argv: request.argv, cwd: request.cwd })
    sessions.open(
      { id: sessionId, agentName: 'You', title, cwd: request.cwd, via: 'command-line', openedAtMs: Date.now() },
      null,
    )
    this.processOf.set(sessionId, '' as ProcessId)
    try {
      await whenReady(execLink, { timeoutMs: READY_MS, signal: request.signal })
      const process = await this.launch(request, sessionId, title)
      return this.handle(process, sink, sessionId)
    } catch (error) {
      this.processOf.delete(sessionId)
      sessions.close(sessionId, (error as Error).message)
      throw runFailure(error)
    }
  }

  /** Ends the connection to the exec server, and with it every run. */
  async close(): Promise<void> {
    await this.client?.exec.close('the host stops')
  }

  private launch(
    { argv, cwd, env, tty, signal }: RunRequest,
    sessionId: SessionId,
    title: string,
  ): Promise<ExecProcess> {
    return this.clientOfThisLife().start(
      {
        argv,
        cwd,
        env,
        tty: tty !== null,
        pipeStdin: tty === null,
        metadata: { gatehouse: { sessionId, title, gate: 'observe', ...(tty && { terminal: tty }) } },
      },
      { signal },
    )
  }

  private clientOfThisLife(): ExecClient {
    const { socketPath, internalToken, execLink } = this.options
    const { generation } = execLink
    if (this.client?.generation === generation) return this.client.exec
    void this.client?.exec.close('the exec server was started anew')
    const connect = unixSocketConnector({ path: socketPath, attach: { token: internalToken, name: 'gatehouse run' } })
    this.client = { generation, exec: new ExecClient({ clientName: 'gatehouse-run', connect, recoveryMs: READY_MS }) }
    return this.client.exec
  }

  private handle(process: ExecProcess, sink: RunSink, sessionId: SessionId): RunHandle {
    const { exec } = this.options
    const processId = this.processOf.get(sessionId) as ProcessId
    return {
      processId,
      sessionId,
      async write(bytes) {
        requireAccepted(await process.write(bytes))
      },
      async endInput() {
        requireAccepted(await process.endInput())
      },
      async signal(name) {
        await exec.signal(processId, name)
      },
      resize: (columns, rows) => exec.resize(processId, columns, rows),
      closed: this.follow(process, processId, sink).finally(() => {
        this.processOf.delete(sessionId)
        this.options.sessions.close(sessionId, 'the command ended')
      }),
    }
  }

  /** Hands all output to the sink, then tells how the process ended. */
  private async follow(process: ExecProcess, processId: ProcessId, sink: RunSink): Promise<RunEnd> {
    const { exec, processes } = this.options
    const brake = new Brake(
      (signal) => exec.signal(processId, signal),
      () => processes.get(processId)?.outputBytes ?? 0,
    )
    let lost = 0
    try {
      for await (const output of process.output) {
        lost += await deliver(output, sink)
        if (output.kind === 'output') brake.taken(output.bytes.length)
      }
    } finally {
      brake.release()
    }
    const { exitCode } = await process.exited
    const facts = await processes.whenOver(processId, LAST_NEWS_MS)
    const exitSignal = facts?.exitSignal ?? null
    const end: RunEnd = { exitCode: exitSignal === null ? exitCode : (facts?.exitCode ?? null), exitSignal }
    return lost === 0
      ? end
      : { ...end, detail: `${lost} pieces of output were lost because they were not read in time` }
  }
}

const EMPTY_SUBJECT = { envChanges: {}, tty: false, stdin: 'none', sandbox: 'none' } as const

/** Resolves with how many pieces are missing. */
async function deliver(output: ProcessOutput, sink: RunSink): Promise<number> {
  if (output.kind === 'gap') return output.toSeq - output.fromSeq + 1
  await sink.output(output.stream, output.bytes)
  return 0
}

function requireAccepted(status: string): void {
  if (status !== 'accepted') throw new RpcError('invalidRequest', `the input was not taken: ${status}`)
}

/** The exec server's words for a denial and a withdrawal as the house's codes; everything else as it came. */
function runFailure(error: unknown): unknown {
  if (!(error instanceof RpcError)) return error
  const { kind, reason } = (error.data ?? {}) as { kind?: unknown; reason?: unknown }
  if (kind === 'denied') return new RpcError('denied', typeof reason === 'string' ? reason : error.message)
  return kind === 'withdrawn' ? new RpcError('cancelled', error.message) : error
}
