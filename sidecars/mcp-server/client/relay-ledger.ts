import { RPC_ERROR } from '../../protocol/errors.ts'

type Id = string | number
interface Message {
  id?: unknown
  method?: unknown
  params?: unknown
}

/** The id of the handshake that the relay repeats by itself. */
const REPLAY_ID = 'gatehouse-relay-handshake'
/** What the MCP SDKs call "connection closed". */
const CONNECTION_CLOSED = -32000

/**
 * What a relay has to remember of the conversation it carries, so that it can go on with another host:
 * the handshake, the calls without an answer, and the questions of a host that is gone.
 */
export class RelayLedger {
  private readonly unanswered = new Map<string, Id>()
  private readonly asked = new Set<string>()
  private readonly stale = new Set<string>()
  private initialize: { id: Id; line: string; params: unknown } | null = null
  private isInitialized = false
  private replayAnswered: (() => void) | null = null

  /** A line of the agent. False when it must not be passed on. */
  fromAgent(line: string): boolean {
    const { id, method, params } = read(line)
    if (isId(id) && typeof method === 'string') {
      this.unanswered.set(keyOf(id), id)
      if (method === 'initialize') this.initialize = { id, line, params }
    } else if (method === 'notifications/initialized') this.isInitialized = true
    // One that comes too late says nothing, and as a first message would mislead a new host.
    else if (method === 'notifications/cancelled') return this.unanswered.delete(keyOf(requestIdOf(params)))
    else if (isId(id) && method === undefined) {
      this.asked.delete(keyOf(id))
      // An answer to a host that is gone would be taken for one to the new host.
      return !this.stale.delete(keyOf(id))
    }
    return true
  }

  /** A line of the host. False when it was for the relay itself. */
  fromHost(line: string): boolean {
    const { id, method } = read(line)
    if (!isId(id)) return true
    if (typeof method === 'string') {
      this.asked.add(keyOf(id))
      return true
    }
    if (id === REPLAY_ID) {
      this.replayAnswered?.()
      this.replayAnswered = null
      return false
    }
    this.unanswered.delete(keyOf(id))
    return true
  }

  /**
   * The host is gone: an error for each call it will not answer. A handshake without an answer stays,
   * the next host gets it.
   */
  abandon(message: string): string[] {
    for (const key of this.asked) this.stale.add(key)
    this.asked.clear()
    this.replayAnswered = null
    const handshake = this.openHandshake()
    const lost = [...this.unanswered.values()].filter((id) => id !== handshake?.id)
    for (const id of lost) this.unanswered.delete(keyOf(id))
    return lost.map((id) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: CONNECTION_CLOSED, message } }))
  }

  /**
   * Brings a new host to where the agent is: sends the handshake, or repeats one that was answered and
   * waits for the new answer. True when it was repeated.
   */
  async replay(write: (line: string) => void): Promise<boolean> {
    const open = this.openHandshake()
    if (open) write(open.line)
    if (open || !this.initialize) return false
    const answered = new Promise<void>((resolve) => (this.replayAnswered = resolve))
    write(JSON.stringify({ jsonrpc: '2.0', id: REPLAY_ID, method: 'initialize', params: this.initialize.params }))
    await answered
    if (this.isInitialized) write('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return true
  }

  /** True for the handshake, which `replay` sends itself. */
  isHandshake(line: string): boolean {
    return line === this.initialize?.line
  }

  private openHandshake(): { id: Id; line: string } | null {
    return this.initialize && this.unanswered.has(keyOf(this.initialize.id)) ? this.initialize : null
  }
}

/** The answer to a line that is no message or too long to be one. */
export function refusalOf(problem: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: RPC_ERROR.invalidRequest, message: problem } })
}

function read(line: string): Message {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    // Not ours to judge: the server answers it.
    return {}
  }
}

const isId = (id: unknown): id is Id => typeof id === 'string' || typeof id === 'number'
const keyOf = (id: unknown): string => JSON.stringify(id) ?? ''
const requestIdOf = (params: unknown): unknown => (params as { requestId?: unknown } | null | undefined)?.requestId
