import type { ExecProcess } from '../../exec-server/client/index.ts'
import type { SessionId } from '../../protocol/ids.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ProcessRequest } from './process-request.ts'

/** Exactly what is to be run, and for whom. */
export interface CommandStart extends ProcessRequest {
  /** Unique over all sessions. */
  processId: string
  sessionId: SessionId
  toolCallId: string
}

/** What is used of a process of the exec server. */
export type StartedProcess = Pick<
  ExecProcess,
  'exited' | 'closed' | 'readOutput' | 'read' | 'write' | 'endInput' | 'interrupt' | 'terminate'
>

/** What the MCP server needs of an exec server. */
export interface ExecPort {
  /**
   * Resolves when the process runs, which may take as long as a person needs to decide. Aborting
   * `signal` withdraws the question. Rejects with RpcError: `denied` (message = the words of whoever
   * denied), `unavailable` when there is no exec server, or what kept it from starting.
   */
  start(command: CommandStart, signal: AbortSignal): Promise<StartedProcess>
  /** Null when commands can be run now, else one sentence that says why not. */
  check(): Promise<string | null>
}

/** Stands where no exec server was configured. */
export class NoExecPort implements ExecPort {
  constructor(private readonly because: string) {}
  start(): Promise<StartedProcess> {
    return Promise.reject(new RpcError('unavailable', this.because))
  }
  check(): Promise<string | null> {
    return Promise.resolve(this.because)
  }
}
