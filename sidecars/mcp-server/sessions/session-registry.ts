import type { SessionId } from '../../protocol/ids.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ExecPort } from '../processes/exec-port.ts'
import { AgentSession, type ClientOrigin } from './agent-session.ts'
import type { ClientIdentity } from './client-identity.ts'
import type { HostLink } from './host-link.ts'

/** More attached clients than this are a leak somewhere; the machine should not pay for it. */
const MAX_SESSIONS = 256

/** How often sessions are looked at that may have been left without a word. */
const SWEEP_MS = 60_000
/** A client over HTTP that has not called for so long, with nothing of it running, is taken for gone. */
const IDLE_LIMIT_MS = 30 * 60_000

/** The sessions of this server, whatever carrier they came by. */
export class SessionRegistry {
  private readonly sessions = new Map<SessionId, AgentSession>()
  private readonly ending = new Set<Promise<void>>()
  private readonly sweep: NodeJS.Timeout

  constructor(
    private readonly host: HostLink,
    private readonly exec: ExecPort,
    private readonly idleLimitMs = IDLE_LIMIT_MS,
    sweepMs = SWEEP_MS,
    private readonly threads: AgentSession['threads'] = null,
  ) {
    this.sweep = setInterval(() => this.closeIdle(), sweepMs)
    this.sweep.unref()
  }

  get size(): number {
    return this.sessions.size
  }

  /** @throws RpcError `overloaded` when there are too many and none can make room */
  open(client: ClientIdentity, origin: ClientOrigin): AgentSession {
    if (this.sessions.size >= MAX_SESSIONS && !this.closeLongestIdle())
      throw new RpcError('overloaded', `${this.sessions.size} sessions are open; end one and try again`)
    const session = new AgentSession(this.host, this.exec, client, origin, this.threads)
    this.sessions.set(session.id, session)
    return session
  }

  /** Closes a session; resolves when what it started has ended. */
  close(session: AgentSession, reason: string): Promise<void> {
    this.sessions.delete(session.id)
    const end = session.close(reason).finally(() => this.ending.delete(end))
    this.ending.add(end)
    return end
  }

  /** The server stops: no session is left afterwards. */
  async dispose(reason: string): Promise<void> {
    clearInterval(this.sweep)
    for (const session of this.sessions.values()) void this.close(session, reason)
    await Promise.all(this.ending)
  }

  private closeIdle(): void {
    const now = performance.now()
    for (const session of this.idleOverHttp())
      if (now - session.lastActiveAt > this.idleLimitMs) void this.close(session, 'nothing was heard from the client')
  }

  private closeLongestIdle(): boolean {
    const longest = this.idleOverHttp().sort((a, b) => a.lastActiveAt - b.lastActiveAt)[0]
    if (longest) void this.close(longest, 'made room for a new session')
    return longest !== undefined
  }

  /** Only there a client can leave unseen. */
  private idleOverHttp(): AgentSession[] {
    return [...this.sessions.values()].filter(({ isIdle, facts }) => isIdle && facts.via === 'mcp-http')
  }
}
