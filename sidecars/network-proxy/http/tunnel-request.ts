/** A CONNECT that waits for its tunnel. */
import type { ClientConnection } from '../client-connection.ts'
import { ClientPresence } from '../client-presence.ts'
import { connectRefusal, type Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { TunnelClient } from '../tunnel/tunnel-opener.ts'
import { errorResponse } from './error-response.ts'

/** The client connection that asked for the tunnel. */
export interface TunnelRequestOwner {
  readonly connection: ClientConnection
  /** Lets go of the connection and the record; gives what the client sent ahead. */
  handOver(): Buffer | undefined
  /** Answers and closes. */
  finalAnswer(answer: Buffer): void
}

export class TunnelRequest implements TunnelClient {
  readonly presence = new ClientPresence()

  constructor(
    readonly destination: Destination,
    private readonly owner: TunnelRequestOwner,
  ) {}

  get connection(): ClientConnection {
    return this.owner.connection
  }

  accept(): Buffer | undefined {
    const ahead = this.owner.handOver()
    this.connection.socket.write('HTTP/1.1 200 Connection established\r\n\r\n', 'latin1')
    return ahead
  }

  refuse(refusal: Refusal): void {
    this.owner.finalAnswer(connectRefusal(refusal))
  }

  fail(_code: string, message: string): void {
    this.owner.finalAnswer(errorResponse(502, message, false))
  }
}
