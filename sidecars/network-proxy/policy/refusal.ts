/** Why a connection is refused, and the words for it on every wire. */
import type { NetworkProtocol } from '../../protocol/subject.ts'

/** Who said no. */
export type RefusalSource = 'baseline_policy' | 'mode_guard' | 'proxy_state' | 'decider'

export type RefusalReason =
  | 'denied'
  | 'not_allowed'
  | 'not_allowed_local'
  | 'dns_failed'
  | 'approval_timeout'
  | 'policy_denied'
  | 'method_not_allowed'
  | 'mitm_required'
  | 'mitm_hook_denied'
  | 'sni_mismatch'
  | 'proxy_disabled'
  | 'proxy_loop'
  | 'too_many_tunnels'
  | 'unix_socket_unsupported'

export interface Refusal {
  reason: RefusalReason
  source: RefusalSource
  /** The rule that decided. */
  ruleId?: string
  /** The owner's words, or what an address turned out to be; already safe to show. */
  detail?: string
  /** How somebody outside who was asked called it; answers and audits then say it so. */
  told?: { decision: 'deny' | 'ask'; reason: string }
}

interface Wording {
  /** Value of `x-proxy-error`; agents and tools look for these codes. */
  code: string
  sentence: string
  /** Who can change it. */
  remedy: string
}

const OWNER = 'Only the owner of this machine can change that, in Gatehouse under Network or Rules.'
const WORDING: Record<RefusalReason, Wording> = {
  denied: { code: 'blocked-by-denylist', sentence: 'A deny rule of Gatehouse names this host', remedy: OWNER },
  not_allowed: { code: 'blocked-by-allowlist', sentence: 'No rule of Gatehouse allows this host', remedy: OWNER },
  not_allowed_local: {
    code: 'blocked-by-local-policy',
    sentence: 'Gatehouse blocks local and private network addresses unless a rule names them exactly',
    remedy: OWNER,
  },
  dns_failed: {
    code: 'blocked-by-local-policy',
    sentence: 'The name could not be resolved, so Gatehouse could not check where it leads',
    remedy: 'Check the spelling of the host first.',
  },
  approval_timeout: {
    code: 'blocked-by-policy',
    sentence: 'The owner was asked and did not answer in time',
    remedy: 'Try again when the owner is there to answer.',
  },
  policy_denied: { code: 'blocked-by-policy', sentence: 'The request was refused', remedy: OWNER },
  method_not_allowed: {
    code: 'blocked-by-method-policy',
    sentence: 'Gatehouse is in limited mode, which allows only GET, HEAD and OPTIONS',
    remedy: OWNER,
  },
  mitm_required: {
    code: 'blocked-by-mitm-required',
    sentence: 'This host needs HTTPS inspection, which this connection does not go through',
    remedy: OWNER,
  },
  mitm_hook_denied: {
    code: 'blocked-by-mitm-hook',
    sentence: 'No inspection hook of Gatehouse matches this request',
    remedy: OWNER,
  },
  sni_mismatch: {
    code: 'blocked-by-policy',
    sentence: 'The TLS server name inside the tunnel is not an allowed host',
    remedy: OWNER,
  },
  proxy_disabled: { code: 'blocked-by-policy', sentence: 'The network proxy is switched off', remedy: OWNER },
  proxy_loop: {
    code: 'blocked-by-policy',
    sentence: 'The destination is this proxy itself',
    remedy: 'Address the server you mean, not the proxy.',
  },
  too_many_tunnels: {
    code: 'too-many-tunnels',
    sentence: 'Too many connections are open through the proxy',
    remedy: 'Close some and try again.',
  },
  unix_socket_unsupported: {
    code: 'blocked-by-policy',
    sentence: 'Unix sockets through the proxy are only supported on macOS',
    remedy: 'Connect to the socket directly.',
  },
}

const DELIBERATE =
  'This block is deliberate: going around the proxy (--noproxy, another DNS server, a VPN) will not work.'

/** The machine-readable code of a reason, as sent in `x-proxy-error`. */
export function refusalCode(reason: RefusalReason): string {
  return WORDING[reason].code
}

/** The refusal in one line of plain ASCII-safe text, for bodies, logs and people. */
export function refusalText(refusal: Refusal): string {
  const { sentence, remedy } = WORDING[refusal.reason]
  const words = refusal.detail ?? refusal.told?.reason
  const detail = words === undefined ? '' : `: ${sanitize(words)}`
  return `${sentence}${detail}. ${DELIBERATE} ${remedy}`
}

const MAX_DETAIL_LENGTH = 500

/**
 * Makes foreign words (a rule's justification, the owner's reason) fit for a header, a log and a model:
 * control, zero-width and bidirectional characters become spaces, angle brackets go.
 */
export function sanitize(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[<>]/g, '')
    .replace(/ {2,}/g, ' ')
    .trim()
    .slice(0, MAX_DETAIL_LENGTH)
}

/** What a refusal is about, for its JSON body. */
export interface RefusedTarget {
  host: string
  port: number
  protocol: NetworkProtocol
}

const POLICY_PROTOCOL: Record<NetworkProtocol, string> = {
  http: 'http',
  websocket: 'http',
  https: 'https_connect',
  socks5Tcp: 'socks5_tcp',
  socks5Udp: 'socks5_udp',
}

export type RefusalForm = 'json' | 'text'

/** A tool that retries gets the same answer hundreds of times, and making one costs more than sending it. */
const remembered = new Map<string, Buffer>()
const MAX_REMEMBERED = 256

interface Answered extends RefusedTarget {
  keepAlive: boolean
  form: RefusalForm
  answer: Buffer
}
/** What was answered last to each refusal: rulings are kept, so that one and the same refusal comes again. */
const latest = new WeakMap<Refusal, Answered>()

/** A complete refusal of an HTTP request: 403 with a body, on a connection that stays open or closes. */
export function httpRefusal(
  refusal: Refusal,
  target: RefusedTarget,
  keepAlive: boolean,
  form: RefusalForm = 'json',
): Buffer {
  const { host, port, protocol } = target
  const last = latest.get(refusal)
  if (
    last?.host === host &&
    last.port === port &&
    last.protocol === protocol &&
    last.keepAlive === keepAlive &&
    last.form === form
  )
    return last.answer
  const answer = makeOrRemember(refusal, target, keepAlive, form)
  latest.set(refusal, { host, port, protocol, keepAlive, form, answer })
  return answer
}

function makeOrRemember(refusal: Refusal, target: RefusedTarget, keepAlive: boolean, form: RefusalForm): Buffer {
  const { reason, source, detail, told } = refusal
  const { host, port, protocol } = target
  const key = `${host} ${port} ${protocol} ${reason} ${source} ${keepAlive} ${form} ${detail ?? ''} ${told?.decision ?? ''} ${told?.reason ?? ''}`
  const known = remembered.get(key)
  if (known) return known
  const { type, body } = refusalBody(refusal, target, form)
  const answer = response(refusal, type, body, keepAlive)
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  remembered.set(key, answer)
  return answer
}

/** What a refusal says, by its form. */
export function refusalBody(
  refusal: Refusal,
  target: RefusedTarget,
  form: RefusalForm,
): { type: string; body: string } {
  const message = refusalText(refusal)
  if (form === 'text') return { type: 'text/plain; charset=utf-8', body: `${message}\n` }
  const body = JSON.stringify({
    status: 'blocked',
    host: target.host,
    port: target.port,
    protocol: POLICY_PROTOCOL[target.protocol],
    reason: refusal.told?.reason ?? refusal.reason,
    decision: refusal.told?.decision ?? 'deny',
    source: refusal.source,
    message,
    // npm prints this member of an error's body and no other.
    error: message,
  })
  return { type: 'application/json', body: `${body}\n` }
}

/** Status and phrase of a refusal. */
export function refusalStatus({ reason }: Refusal): string {
  return STATUS[reason] ?? '403 Blocked by Gatehouse policy'
}

/** A complete refusal of a CONNECT: one line of text, because clients print it as it is. */
export function connectRefusal(refusal: Refusal): Buffer {
  return response(refusal, 'text/plain; charset=utf-8', `${refusalText(refusal)}\n`, false)
}

function response(refusal: Refusal, contentType: string, body: string, keepAlive: boolean): Buffer {
  const bytes = Buffer.from(body)
  const head =
    `HTTP/1.1 ${refusalStatus(refusal)}\r\ncontent-type: ${contentType}\r\nx-proxy-error: ${refusalCode(refusal.reason)}\r\n` +
    `x-gatehouse-reason: ${refusal.reason}\r\ncontent-length: ${bytes.length}\r\n` +
    `${keepAlive ? '' : 'connection: close\r\n'}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes])
}
const STATUS: Partial<Record<RefusalReason, string>> = {
  proxy_disabled: '503 Network proxy is disabled',
  too_many_tunnels: '503 Too many tunnels',
  unix_socket_unsupported: '501 Unix sockets unsupported',
}
