import { DecodeError } from '../../protocol/decode.ts'
import type { SessionId } from '../../protocol/ids.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import { AgentProcess, type AgentProcessOptions } from '../processes/agent-process.ts'
import type { ExecPort } from '../processes/exec-port.ts'
import type { ProcessRequest } from '../processes/process-request.ts'

/** An agent that starts more at once is in a loop; a person could not follow it either. */
const MAX_LIVE = 64
/** Results of ended processes that can still be asked for. */
const MAX_ENDED = 100

/** The processes of one session, by the short ids the agent uses (`p1`, `p2`, …). */
export class SessionProcesses {
  private readonly byId = new Map<string, AgentProcess>()
  private count = 0

  constructor(
    private readonly exec: ExecPort,
    private readonly sessionId: SessionId,
  ) {}

  /** Puts the command to the gate. @throws RpcError `overloaded` with too many live processes */
  start(request: ProcessRequest, options: Omit<AgentProcessOptions, 'id' | 'sessionId'>): AgentProcess {
    const live = this.live()
    if (live.length >= MAX_LIVE)
      throw new RpcError(
        'overloaded',
        `${live.length} processes of this session are running or waiting; stop one (stop_process) first`,
      )
    const id = `p${++this.count}`
    const process = new AgentProcess(this.exec, request, { ...options, id, sessionId: this.sessionId })
    this.byId.set(id, process)
    void process.settled.then(() => this.forgetOldest())
    return process
  }

  /** @throws DecodeError naming `processId` */
  get(id: string): AgentProcess {
    const found = this.byId.get(id)
    if (found) return found
    const known = [...this.byId.keys()].slice(-10).join(', ')
    throw new DecodeError(
      'processId',
      `no process ${JSON.stringify(id)} in this session${known === '' ? '' : `; the latest are ${known}`}`,
    )
  }

  list(): AgentProcess[] {
    return [...this.byId.values()]
  }

  live(): AgentProcess[] {
    return this.list().filter((process) => !process.isOver)
  }

  /** Stops everything that may not outlive the session. */
  async stopAll(): Promise<void> {
    const ending = this.live().filter(({ options }) => !options.isKept)
    await Promise.all(ending.map((process) => process.stop()))
  }

  private forgetOldest(): void {
    let surplus = this.byId.size - this.live().length - MAX_ENDED
    for (const [id, process] of this.byId) {
      if (surplus <= 0) return
      if (!process.isOver) continue
      this.byId.delete(id)
      surplus--
    }
  }
}
