/** Asks a model server what it has: the check behind "Test connection". */
import { providerHeaders, resolveProvider } from './provider.ts'
import type { ProviderSecrets } from './provider-secrets.ts'

const ANSWER_MS = 10_000

/**
 * Names of the models, sorted. Rejects with a sentence for people: unreachable, refused, not a model server,
 * or the key's variable is not set.
 */
export async function listModels(
  { baseUrl, envKey, key }: { baseUrl: string; envKey?: string; key?: string },
  secrets: ProviderSecrets,
): Promise<string[]> {
  const provider = resolveProvider('new', {
    new: { base_url: baseUrl, ...(envKey && { env_key: envKey }), ...(key && { experimental_bearer_token: key }) },
  })
  const url = `${provider.base_url}/models`
  const headers = await providerHeaders(provider, secrets)
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_MS) }).catch((error: Error) => {
    const cause = error.cause instanceof Error ? error.cause.message : error.message
    throw new Error(`${url} cannot be reached: ${cause}`)
  })
  if (!response.ok) {
    await response.body?.cancel()
    const why = response.status === 401 || response.status === 403 ? 'the key is missing or not accepted' : 'it refused'
    throw new Error(`${url} answered ${response.status}: ${why}`)
  }
  const names = namesIn(await response.json().catch(() => null))
  if (names === null) throw new Error(`${url} did not answer with a list of models`)
  return names.sort()
}

function namesIn(body: unknown): string[] | null {
  const data = (body as { data?: unknown } | null)?.data
  if (!Array.isArray(data)) return null
  return data.flatMap((entry: unknown) => {
    const id = (entry as { id?: unknown } | null)?.id
    return typeof id === 'string' ? [id] : []
  })
}
