import { decode } from '../../protocol/decode.ts'
import { initializeExecParams } from '../../protocol/exec-process.ts'
import type { HandshakeState, WireConnection } from '../wire/wire-connection.ts'
import type { Method } from '../wire/method-table.ts'
import { WireError } from '../wire/wire-error.ts'
import type { SessionStore } from './session-store.ts'

/** `initialize`, `initialized`, then everything else: the state of one connection. */
export class Handshake implements HandshakeState {
  private state: 'new' | 'answered' | 'ready' = 'new'

  constructor(
    private readonly sessions: SessionStore,
    private readonly environmentInfo: () => unknown,
  ) {}

  /**
   * May be repeated after a failure, never after a success. Answers before the next message is looked
   * at: clients send `initialized` and their first requests without waiting.
   */
  initialize(raw: unknown, connection: WireConnection): unknown {
    const params = decode(initializeExecParams, raw, 'params')
    if (this.state !== 'new') throw new WireError('invalidRequest', 'initialize may only be sent once per connection')
    const environmentInfo = this.environmentInfo()
    const session =
      params.resumeSessionId === undefined
        ? this.sessions.open(params.clientName, connection)
        : this.sessions.resume(params.resumeSessionId, connection)
    this.state = 'answered'
    return { sessionId: session.wireId, environmentInfo }
  }

  initialized(): boolean {
    if (this.state === 'answered') this.state = 'ready'
    return this.state === 'ready'
  }

  requireReady({ family }: Method): void {
    if (this.state === 'ready') return
    const missing = this.state === 'answered' ? 'send initialized' : 'call initialize'
    throw new WireError('invalidRequest', `client must ${missing} before using ${family} methods`)
  }
}
