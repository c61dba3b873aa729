import { WireError } from '../wire/wire-error.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { Session } from './session.ts'

/** How long a session waits for its client to come back, as the reference server. */
export const DETACHED_SESSION_TTL_MS = 80_000

export interface SessionStoreEvents {
  onOpened(session: Session, connection: WireConnection): void
  /** It cannot be resumed any more: whatever it owns is to be ended. */
  onClosed(session: Session, reason: string): void
}

/** Every session of the server, attached or waiting for its client. */
export class SessionStore {
  private readonly sessions = new Map<string, { session: Session; expiry: NodeJS.Timeout | undefined }>()
  private readonly byConnection = new WeakMap<WireConnection, Session>()

  constructor(
    private readonly events: SessionStoreEvents,
    private readonly ttlMs = DETACHED_SESSION_TTL_MS,
  ) {}

  /** The session that the connection opened or resumed. */
  of(connection: WireConnection): Session {
    const session = this.byConnection.get(connection)
    if (!session) throw new WireError('invalidRequest', 'client must call initialize before using exec methods')
    return session
  }

  open(clientName: string, connection: WireConnection): Session {
    const session = new Session(clientName)
    this.sessions.set(session.wireId, { session, expiry: undefined })
    this.join(session, connection)
    this.events.onOpened(session, connection)
    return session
  }

  /** @throws WireError when it is unknown, expired, or another connection has it */
  resume(wireId: string, connection: WireConnection): Session {
    const entry = this.sessions.get(wireId)
    if (!entry) throw new WireError('invalidRequest', `unknown session id ${wireId}`)
    if (entry.session.connection)
      throw new WireError('alreadyAttached', `session ${wireId} is already attached to another connection`)
    clearTimeout(entry.expiry)
    entry.expiry = undefined
    this.join(entry.session, connection)
    return entry.session
  }

  all(): Session[] {
    return [...this.sessions.values()].map(({ session }) => session)
  }

  /** Ends every session, attached or not. */
  closeAll(reason: string): void {
    for (const { session } of this.sessions.values()) this.close(session, reason)
  }

  private join(session: Session, connection: WireConnection): void {
    this.byConnection.set(connection, session)
    session.attach(connection)
    connection.own({ dispose: () => this.leave(session) })
  }

  private leave(session: Session): void {
    session.detach()
    const entry = this.sessions.get(session.wireId)
    if (!entry) return
    const onExpiry = () => this.close(session, 'its client did not come back')
    if (this.ttlMs === 0) return onExpiry()
    entry.expiry = setTimeout(onExpiry, this.ttlMs)
    // What keeps the program alive are its listeners.
    entry.expiry.unref()
  }

  private close(session: Session, reason: string): void {
    const entry = this.sessions.get(session.wireId)
    if (!entry) return
    clearTimeout(entry.expiry)
    this.sessions.delete(session.wireId)
    this.events.onClosed(session, reason)
  }
}
