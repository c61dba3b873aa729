import { fileURLToPath } from 'node:url'
import type { McpServer } from '@modelcontextprotocol/server'
import type { AgentSession } from './agent-session.ts'

/**
 * Lets a client without a working folder of its own (over HTTP, or started outside any project) name
 * one by its roots. Only revisions with a handshake can be asked; the answer is a default for `cwd`
 * and limits nothing.
 */
export function adoptRoots(server: McpServer, session: () => AgentSession): void {
  const adopt = async () => {
    if (session().facts.cwd !== undefined || !server.server.getClientCapabilities()?.roots) return
    const { roots } = await server.server.listRoots()
    const folder = roots.find(({ uri }) => uri.startsWith('file://'))
    if (folder) session().defaultCwd = fileURLToPath(folder.uri)
  }
  // A client that does not answer simply has no default folder.
  const tryAdopt = () => void adopt().catch(() => {})
  server.server.oninitialized = tryAdopt
  server.server.setNotificationHandler('notifications/roots/list_changed', tryAdopt)
}
