/** Where a provider's realtime server is, and how a call with WebRTC is set up there. */
import { providerHeaders, type ModelProvider } from '../model/provider.ts'
import type { ProviderSecrets } from '../model/provider-secrets.ts'
import type { RealtimeTarget } from './realtime-conversation.ts'
import { sessionOf, type SessionWishes } from './realtime-wire.ts'

const CONNECT_TIMEOUT_MS = 15_000

/** @throws MissingKey, KeychainError */
export async function realtimeTarget(
  provider: ModelProvider,
  secrets: ProviderSecrets,
  place: { model: string } | { callId: string },
): Promise<RealtimeTarget> {
  const url = new URL(`${provider.base_url}/realtime`)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  for (const [name, value] of Object.entries(provider.query_params)) url.searchParams.set(name, value)
  if ('model' in place) url.searchParams.set('model', place.model)
  else url.searchParams.set('call_id', place.callId)
  return { url: url.href, headers: await providerHeaders(provider, secrets), connectTimeoutMs: CONNECT_TIMEOUT_MS }
}

/** Gives the client's SDP offer to the server. Rejects with a sentence for people. */
export async function openCall(
  provider: ModelProvider,
  model: string,
  wishes: SessionWishes,
  sdp: string,
  secrets: ProviderSecrets,
): Promise<{ sdp: string; callId: string }> {
  const form = new FormData()
  form.set('sdp', sdp)
  form.set('session', JSON.stringify({ ...sessionOf(wishes), model }))
  const response = await fetch(`${provider.base_url}/realtime/calls`, {
    method: 'POST',
    headers: await providerHeaders(provider, secrets),
    body: form,
    signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS),
  })
  const text = await response.text()
  const callId = response.headers.get('location')?.split('/').at(-1)
  if (!response.ok) throw new Error(`the realtime server answered HTTP ${response.status}`)
  if (!callId) throw new Error('the realtime server did not name the call')
  return { sdp: text, callId }
}
