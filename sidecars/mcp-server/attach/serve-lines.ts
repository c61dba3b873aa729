import type { Readable, Writable } from 'node:stream'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { AgentSession, ClientOrigin } from '../sessions/agent-session.ts'
import { clientOf, UNNAMED_CLIENT, type ClientIdentity } from '../sessions/client-identity.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import { createAgentServer } from '../tools/agent-server.ts'
import { LineCarrier } from './line-carrier.ts'

export interface ServedLines {
  /** Resolves when the client is gone and what it started has ended. */
  readonly ended: Promise<void>
  close(): void
}

/**
 * Serves one MCP client on a pair of byte streams, in whichever protocol revision it opens with. The
 * session begins with the first message that names the client and ends with the streams.
 */
export function serveLines(
  input: Readable,
  output: Writable,
  registry: SessionRegistry,
  origin: ClientOrigin,
  log: (message: string) => void,
): ServedLines {
  let session: AgentSession | undefined
  let resolveEnded: () => void = () => {}
  const ended = new Promise<void>((resolve) => (resolveEnded = resolve))
  const open = (client: ClientIdentity): AgentSession => (session ??= registry.open(client, origin))
  const carrier = new LineCarrier(input, output, {
    onIncoming: (message) => {
      const client = session ? null : clientOf(message)
      if (client) open(client)
    },
    onEnded: () => {
      const closing = session ? registry.close(session, 'the client left') : Promise.resolve()
      void closing.then(resolveEnded)
    },
    onProblem: log,
  })
  // A client may call a tool without having said who it is.
  const server = serveStdio(() => createAgentServer(() => session ?? open(UNNAMED_CLIENT)), {
    transport: carrier,
    onerror: (error) => log(error.message),
  })
  return { ended, close: () => void server.close() }
}
