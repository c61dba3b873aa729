/** Where a provider's realtime server is, and how a call with WebRTC is set up there. */
import { providerHeaders, type ModelProvider } from '../model/provider.ts'
import type { ProviderSecrets } from '../model/provider-secrets.ts'
import type { Dialect, RealtimePlace, SessionWishes } from './dialect.ts'
import type { RealtimeTarget } from './realtime-conversation.ts'

const CONNECT_TIMEOUT_MS = 15_000

/** The conversation's own name, which the server hears of. */
const sessionHeader = (sessionId: string) => ({ 'x-session-id': sessionId.replaceAll(/[^\x20-\x7e]/g, '?') })

/** @throws MissingKey, KeychainError */
export async function realtimeTarget(
  provider: ModelProvider,
  secrets: ProviderSecrets,
  dialect: Dialect,
  place: RealtimePlace,
  sessionId: string,
): Promise<RealtimeTarget> {
  const { path, query } = dialect.address(place)
  const url = urlOf(provider, path, query)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const headers = { ...(await providerHeaders(provider, secrets)), ...dialect.headers, ...sessionHeader(sessionId) }
  return { url: url.href, headers, connectTimeoutMs: CONNECT_TIMEOUT_MS, isCall: 'callId' in place }
}

/** Gives the client's SDP offer to the server. Rejects with a sentence for people. */
export async function openCall(
  provider: ModelProvider,
  secrets: ProviderSecrets,
  dialect: Dialect,
  { model, wishes, sdp, sessionId }: { model: string; wishes: SessionWishes; sdp: string; sessionId: string },
): Promise<{ sdp: string; callId: string }> {
  const form = new FormData()
  form.set('sdp', sdp)
  form.set('session', JSON.stringify(dialect.session(wishes, model)))
  const response = await fetch(urlOf(provider, dialect.calls.path, dialect.calls.query), {
    method: 'POST',
    headers: { ...(await providerHeaders(provider, secrets)), ...dialect.headers, ...sessionHeader(sessionId) },
    body: form,
    signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS),
  })
  const text = await response.text()
  const callId = response.headers.get('location')?.split('/').at(-1)
  if (!response.ok) throw new Error(`the realtime server answered HTTP ${response.status}`)
  if (!callId) throw new Error('the realtime server did not name the call')
  return { sdp: text, callId }
}

function urlOf(provider: ModelProvider, path: string, query: Record<string, string>): URL {
  const url = new URL(`${provider.base_url}/${path}`)
  for (const [name, value] of Object.entries({ ...provider.query_params, ...query })) url.searchParams.set(name, value)
  return url
}
