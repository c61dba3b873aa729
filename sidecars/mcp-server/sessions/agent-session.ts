import { randomBytes } from 'node:crypto'
import type { SessionFacts } from '../../protocol/host-channel.ts'
import type { SessionId } from '../../protocol/ids.ts'
import type { AgentThreads } from '../app-server/agent-threads.ts'
import type { ExecPort } from '../processes/exec-port.ts'
import type { ClientIdentity } from './client-identity.ts'
import type { HostLink } from './host-link.ts'
import { SessionProcesses } from './session-processes.ts'

/** How a client reached us. */
export interface ClientOrigin {
  via: 'mcp-stdio' | 'mcp-http'
  cwd?: string | undefined
  pid?: number | undefined
}

/** One attached client and everything that was started for it. */
export class AgentSession {
  readonly facts: SessionFacts
  readonly processes: SessionProcesses
  /** Resolves with the reason as soon as the session is over for its client. */
  readonly closed: Promise<string>
  lastActiveAt = performance.now()
  private holds = 0
  private closing: Promise<void> | undefined
  private resolveClosed: (reason: string) => void = () => {}

  constructor(
    readonly host: HostLink,
    readonly exec: ExecPort,
    client: ClientIdentity,
    origin: ClientOrigin,
    /** Gatehouse's own sessions, for agents that start some; null where there are none. */
    readonly threads: (() => Promise<AgentThreads>) | null = null,
  ) {
    this.closed = new Promise((resolve) => (this.resolveClosed = resolve))
    const id = `ses_${randomBytes(8).toString('hex')}` as SessionId
    this.facts = {
      id,
      agentName: client.name,
      agentVersion: client.version,
      cwd: origin.cwd,
      via: origin.via,
      pid: origin.pid,
      openedAtMs: Date.now(),
    }
    this.processes = new SessionProcesses(exec, id)
    host.opened(this.facts)
  }

  get id(): SessionId {
    return this.facts.id
  }
  get isIdle(): boolean {
    return this.holds === 0 && this.processes.live().length === 0
  }

  /** Keeps the session from being idle until the returned function is called. */
  hold(): () => void {
    this.holds++
    return () => {
      this.holds--
      this.lastActiveAt = performance.now()
    }
  }

  /** Runs one call; the session is active until it has ended. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    const release = this.hold()
    try {
      return await call()
    } finally {
      release()
    }
  }

  /** The client is gone: stops its processes, except those told to stay, and tells the host. */
  close(reason: string): Promise<void> {
    this.closing ??= this.end(reason)
    return this.closing
  }

  private async end(reason: string): Promise<void> {
    this.resolveClosed(reason)
    await this.processes.stopAll()
    this.host.closed(this.id, reason)
  }
}
