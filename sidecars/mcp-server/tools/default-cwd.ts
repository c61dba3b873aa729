import { fileURLToPath } from 'node:url'
import type { ServerContext } from '@modelcontextprotocol/server'
import type { ToolScope } from './tool-scope.ts'

/** Roots come from a program at hand, not from a person. */
const ROOTS_LIMIT_MS = 2_000

/**
 * Where a command runs that names no folder: the folder of the connection, else the first root of a
 * client that has roots and can be asked (revisions with a handshake). It is a default and limits
 * nothing.
 */
export async function defaultCwd({ server, session }: ToolScope, context: ServerContext): Promise<string | undefined> {
  const { cwd } = session().facts
  const canAsk = context.mcpReq.envelope === undefined && server.server.getClientCapabilities()?.roots !== undefined
  if (cwd !== undefined || !canAsk) return cwd
  try {
    const { roots } = await context.mcpReq.send({ method: 'roots/list' }, { timeout: ROOTS_LIMIT_MS })
    const folder = roots.find(({ uri }) => uri.startsWith('file://'))
    return folder && fileURLToPath(folder.uri)
  } catch {
    // No answer is no folder; the command is then refused with a word about cwd.
    return undefined
  }
}
