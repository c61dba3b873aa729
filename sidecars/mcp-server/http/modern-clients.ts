import type { AgentSession } from '../sessions/agent-session.ts'
import { clientOf } from '../sessions/client-identity.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'

/**
 * Clients of the revision without sessions. Their requests stand alone on the wire; to the owner those
 * of one program are one line of work, so requests that bring the same name and version share a session.
 */
export class ModernClients {
  private readonly byIdentity = new Map<string, AgentSession>()

  constructor(private readonly registry: SessionRegistry) {}

  /** The session a request belongs to; null for one that opens none (`server/discover`). */
  sessionOf(body: unknown): AgentSession | null {
    const client = clientOf(body)
    if (!client) return null
    const key = JSON.stringify([client.name, client.version ?? ''])
    const known = this.byIdentity.get(key)
    if (known) return known
    const session = this.registry.open(client, { via: 'mcp-http' })
    this.byIdentity.set(key, session)
    void session.closed.then(() => this.byIdentity.delete(key))
    return session
  }
}
