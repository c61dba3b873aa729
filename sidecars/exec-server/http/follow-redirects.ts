import type { IncomingMessage } from 'node:http'
import { publicUrl, type CallHeader, type Environment, type HttpCall } from './http-call.ts'
import { exchange, type Exchange } from './http-exchange.ts'

/** As the reference: ten redirects are followed, the eleventh is an error. */
const MAX_REDIRECTS = 10
/** What a server must not learn of another server's business. */
const BOUND_TO_HOST = new Set(['authorization', 'cookie', 'cookie2', 'proxy-authorization', 'www-authenticate'])
const BODY_HEADERS = new Set(['content-type', 'content-length', 'content-encoding', 'transfer-encoding'])

/** The request could not be brought to an answer. `message` holds no user, password, query or header value. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure'
}

/** Sends the call, and again wherever the answers lead; resolves with the head of the last answer. */
export async function sendCall(
  call: HttpCall,
  environment: Environment,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let next: Exchange = call
  for (let redirects = 0; ; redirects++) {
    const response = await exchange(next, environment, signal).catch((error: unknown) => {
      throw new HttpFailure(`error sending request for url (${publicUrl(next.url)})${causeOf(error)}`, { cause: error })
    })
    const target = call.followsRedirects ? redirectTarget(response, next.url) : null
    if (!target) return response
    // Nobody wants the body of a redirect; reading it could take for ever.
    response.destroy()
    if (redirects === MAX_REDIRECTS) throw new HttpFailure('too many redirects')
    if (target.protocol !== 'http:' && target.protocol !== 'https:')
      throw new HttpFailure(`redirect target uses unsupported URL scheme: ${target.protocol.slice(0, -1)}`)
    next = redirected(next, target, response.statusCode ?? 0)
  }
}

/** Where the answer sends us; null for answers that are the end, also those without a usable location. */
function redirectTarget(response: IncomingMessage, from: URL): URL | null {
  const { location } = response.headers
  if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0) || location === undefined) return null
  try {
    const target = new URL(Buffer.from(location, 'latin1').toString('utf8'), from)
    if (target.hash === '') target.hash = from.hash
    return target
  } catch {
    return null
  }
}

function redirected({ method, url, headers, body }: Exchange, target: URL, status: number): Exchange {
  const becomesGet = status === 303 ? method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST'
  const isSameHost = target.host === url.host && target.protocol === url.protocol
  const kept = headers.filter(
    ({ name, isSecret }) =>
      name !== 'host' &&
      name !== 'referer' &&
      (isSameHost || (!isSecret && !BOUND_TO_HOST.has(name))) &&
      !(becomesGet && BODY_HEADERS.has(name)),
  )
  const referer = refererFor(url, target)
  return {
    method: becomesGet ? 'GET' : method,
    url: target,
    headers: referer ? [...kept, referer] : kept,
    body: becomesGet ? null : body,
  }
}

/** Another host learns where we come from, not what we asked there; plain http learns nothing of https. */
function refererFor(from: URL, target: URL): CallHeader | null {
  if (from.protocol === 'https:' && target.protocol === 'http:') return null
  const value = from.origin === target.origin ? `${publicUrl(from)}${from.search}` : `${from.origin}/`
  return { name: 'referer', value, isSecret: false }
}

const CAUSES: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name does not resolve now',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ABORT_ERR: 'it was given up',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  HPE_HEADER_OVERFLOW: 'the response headers are too large',
}

/** Only known causes are told: a message of unknown making may hold what must not be shown. */
function causeOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string') return code in CAUSES ? `: ${CAUSES[code]}` : `: ${code}`
  return typeof message === 'string' && message.startsWith('the ') ? `: ${message}` : ''
}
