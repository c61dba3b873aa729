import type { IncomingMessage, ServerResponse } from 'node:http'
import { createMcpHandler, isLegacyRequest, type McpServer, type ServerEventBus } from '@modelcontextprotocol/server'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { RpcError } from '../../rpc/rpc-error.ts'
import { AgentSession } from '../sessions/agent-session.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import { WAITING_TOOLS } from '../tools/agent-server.ts'
import { failure, passesGuards, readJsonBody, refuse } from './http-guards.ts'
import { LegacySessions } from './legacy-sessions.ts'
import { ModernClients } from './modern-clients.ts'

export type CreateServer = (session: () => AgentSession) => McpServer

export interface HttpEntryOptions {
  agentToken: string
  registry: SessionRegistry
  createServer: CreateServer
  log: (message: string) => void
  /** Change notifications for subscribers of the revision without sessions. */
  events?: ServerEventBus
}

export interface HttpEntry {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  close(): Promise<void>
}

/**
 * MCP over streamable HTTP in every protocol revision from one set of handlers: behind the guards each
 * request goes either to its session (revisions with a handshake) or is served alone.
 */
export function createHttpEntry({ agentToken, registry, createServer, log, events }: HttpEntryOptions): HttpEntry {
  const legacy = new LegacySessions(registry, createServer, log)
  const clients = new ModernClients(registry)
  const createModern = (responseMode: 'auto' | 'sse') =>
    createMcpHandler(({ authInfo }) => createServer(() => sessionIn(authInfo?.extra)), {
      legacy: 'reject',
      responseMode,
      onerror: (error) => log(error.message),
      ...(events ? { bus: events } : {}),
    })
  const modern = createModern('auto')
  // Opens the answer at once and keeps it alive, however long a decision takes.
  const modernAndSlow = createModern('sse')
  const serveModern = async (request: Request, body: unknown): Promise<Response> => {
    const session = clients.sessionOf(body)
    const extra = session ? { session } : {}
    return await (mayWait(body) ? modernAndSlow : modern).fetch(request, {
      parsedBody: body,
      authInfo: { token: '', clientId: session?.facts.agentName ?? '', scopes: [], extra },
    })
  }
  const serve = toNodeHandler(
    {
      fetch: async (request, options) => {
        const body = options?.parsedBody
        try {
          return await ((await isLegacyRequest(request, body))
            ? legacy.fetch(request, body)
            : serveModern(request, body))
        } catch (error) {
          if (error instanceof RpcError && error.code === 'overloaded')
            return failure(503, error.wireCode, error.message)
          throw error
        }
      },
    },
    { onerror: (error) => log(error.message) },
  )
  return {
    async handle(request, response) {
      try {
        if (!passesGuards(request, response, agentToken)) return
        if (request.method !== 'POST') return await serve(request, response)
        const read = await readJsonBody(request, response)
        if (read) await serve(request, response, read.body)
      } catch (error) {
        log(error instanceof Error ? error.message : String(error))
        if (!response.headersSent) refuse(response, 500, -32603, 'Internal error')
        else response.destroy()
      }
    },
    async close() {
      await Promise.all([modern.close(), modernAndSlow.close()])
    },
  }
}

function mayWait(body: unknown): boolean {
  const { method, params } = body as { method?: unknown; params?: { name?: unknown } }
  return method === 'tools/call' && WAITING_TOOLS.has(String(params?.name))
}

function sessionIn(extra: Record<string, unknown> | undefined): AgentSession {
  if (extra?.session instanceof AgentSession) return extra.session
  throw new RpcError('invalidRequest', 'this request belongs to no session')
}
