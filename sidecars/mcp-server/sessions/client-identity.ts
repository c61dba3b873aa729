/** Who an MCP client says it is. Shown to the owner, never used to decide anything. */
export interface ClientIdentity {
  name: string
  version?: string
}

/** A client that gives no name. */
export const UNNAMED_CLIENT: ClientIdentity = { name: 'unnamed MCP client' }

const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion'
/** Longer names are cut: they come from outside and are shown everywhere. */
const MAX_NAME_LENGTH = 120

/**
 * Reads the client's name from a message that begins or carries a session: `initialize` in the
 * revisions with a handshake, the envelope of every request in those without one. Null for a message
 * that says nothing about it. `server/discover` is only a probe, often from a connection that is thrown
 * away, and opens nothing.
 */
export function clientOf(message: unknown): ClientIdentity | null {
  const { method, params } = asRecord(message)
  if (typeof method !== 'string' || method === 'server/discover') return null
  if (method === 'initialize') return readIdentity(asRecord(params).clientInfo)
  const { _meta: envelope } = asRecord(params)
  const meta = asRecord(envelope)
  return PROTOCOL_VERSION in meta ? readIdentity(meta[CLIENT_INFO]) : null
}

function readIdentity(info: unknown): ClientIdentity {
  const { name, title, version } = asRecord(info)
  const shown = [title, name].find((text) => typeof text === 'string' && text.trim() !== '')
  if (typeof shown !== 'string') return UNNAMED_CLIENT
  return {
    name: shown.slice(0, MAX_NAME_LENGTH),
    ...(typeof version === 'string' && version !== '' ? { version: version.slice(0, MAX_NAME_LENGTH) } : {}),
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
