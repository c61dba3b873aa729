import { randomUUID } from 'node:crypto'
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { AgentSession } from '../sessions/agent-session.ts'
import { clientOf, UNNAMED_CLIENT } from '../sessions/client-identity.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import type { CreateServer } from './http-entry.ts'
import { failure } from './http-guards.ts'

interface LegacyClient {
  session: AgentSession
  transport: WebStandardStreamableHTTPServerTransport
}

/**
 * Clients of the protocol revisions that open with a handshake and name their session in the header
 * `Mcp-Session-Id`. Unknown ids are answered 404, so that a client starts over after a restart; a
 * missing one 400; `initialize` always begins a new session.
 */
export class LegacySessions {
  private readonly clients = new Map<string, LegacyClient>()

  constructor(
    private readonly registry: SessionRegistry,
    private readonly createServer: CreateServer,
    private readonly log: (message: string) => void,
  ) {}

  async fetch(request: Request, body: unknown): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : this.clients.get(id)
    if (known) return await this.exchange(known, request, body)
    if (request.method === 'POST' && isInitializeRequest(body)) return await this.open(request, body)
    return id === null
      ? failure(400, -32000, 'Bad request: the header Mcp-Session-Id is missing; initialize first')
      : failure(404, -32001, 'Session not found: initialize again without Mcp-Session-Id')
  }

  private async open(request: Request, body: unknown): Promise<Response> {
    const session = this.registry.open(clientOf(body) ?? UNNAMED_CLIENT, { via: 'mcp-http' })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.clients.set(id, { session, transport }),
      onsessionclosed: () => void this.registry.close(session, 'the client ended its session'),
    })
    const server = this.createServer(() => session)
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has callbacks, no events
    server.server.onerror = (error) => this.log(error.message)
    void session.closed.then(() => {
      if (transport.sessionId !== undefined) this.clients.delete(transport.sessionId)
      return server.close()
    })
    await server.connect(transport)
    const response = await this.exchange({ session, transport }, request, body)
    // A handshake that was refused has left nothing to come back to.
    if (transport.sessionId === undefined) void this.registry.close(session, 'the handshake failed')
    return response
  }

  /** The session is in use until the response has been sent or the client has left. */
  private async exchange({ session, transport }: LegacyClient, request: Request, body: unknown): Promise<Response> {
    const release = session.hold()
    const response = await transport
      .handleRequest(request, body === undefined ? {} : { parsedBody: body })
      .catch((error: unknown) => {
        release()
        throw error
      })
    return whenDone(response, request.signal, release)
  }
}

/** Calls `done` once: when the body has been read to its end, was given up, or there is none. */
function whenDone(response: Response, signal: AbortSignal, done: () => void): Response {
  if (response.body === null) {
    done()
    return response
  }
  let isDone = false
  const finish = () => {
    if (isDone) return
    isDone = true
    signal.removeEventListener('abort', finish)
    done()
  }
  signal.addEventListener('abort', finish, { once: true })
  const watched = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ flush: finish }))
  return new Response(watched, { status: response.status, headers: response.headers })
}
