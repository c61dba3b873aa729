import type { IncomingMessage, ServerResponse } from 'node:http'
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node'
import { isSameToken } from '../client/attach-line.ts'

/** The one path MCP is served on. */
export const MCP_PATH = '/mcp'

/** The SDK's own bound for a body. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

const isLoopbackHost = localhostHostValidation()
const isLoopbackOrigin = localhostOriginValidation()

/** Answers with a JSON-RPC error that belongs to no request. */
export function refuse(response: ServerResponse, httpStatus: number, code: number, message: string): false {
  response.writeHead(httpStatus, {
    'content-type': 'application/json',
    ...(httpStatus === 401 ? { 'www-authenticate': 'Bearer realm="gatehouse"' } : {}),
    ...(httpStatus === 413 ? { connection: 'close' } : {}),
  })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }))
  return false
}

/** The same as a response of the web kind. */
export function failure(httpStatus: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: httpStatus })
}

/**
 * Lets only local programs with the agents' token through: a web page fails by its Origin, or by its
 * Host when it made a name point at this machine. Answers itself and returns false otherwise.
 */
export function passesGuards(request: IncomingMessage, response: ServerResponse, agentToken: string): boolean {
  if (!isLoopbackHost(request, response) || !isLoopbackOrigin(request, response)) return false
  if (new URL(request.url ?? '/', 'http://localhost').pathname !== MCP_PATH)
    return refuse(response, 404, -32000, `Not found: MCP is served on ${MCP_PATH}`)
  const [, given] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? []
  if (given === undefined)
    return refuse(response, 401, -32000, 'Unauthorized: send the agents\' token as "Authorization: Bearer TOKEN"')
  return isSameToken(given, agentToken) || refuse(response, 401, -32000, 'Unauthorized: wrong token')
}

/**
 * Reads the JSON body of a POST. Answers itself and returns null for one that is too large, of another
 * type or not JSON.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<{ body: unknown } | null> {
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    refuse(response, 415, -32000, 'Unsupported media type: send application/json')
    return null
  }
  const parts: Buffer[] = []
  let sizeBytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    sizeBytes += part.length
    if (sizeBytes > MAX_BODY_BYTES) {
      refuse(response, 413, -32000, `Payload too large: the body may have ${MAX_BODY_BYTES} bytes`)
      return null
    }
    parts.push(part)
  }
  try {
    return { body: JSON.parse(Buffer.concat(parts).toString('utf8')) as unknown }
  } catch (error) {
    refuse(response, 400, -32700, `Parse error: ${(error as Error).message}`)
    return null
  }
}
