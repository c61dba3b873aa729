/** Where model requests go: any server with an OpenAI-compatible Responses API. */
import {
  boolean,
  decode,
  DecodeError,
  integer,
  literal,
  object,
  optional,
  record,
  string,
  withDefault,
  type Infer,
} from '../../protocol/decode.ts'

import type { ProviderSecrets } from './provider-secrets.ts'

const MAX_RETRIES = 100

/** The keys of `[model_providers.<id>]` (Codex config.toml names; numbers are that program's defaults). */
const providerKeys = object({
  name: optional(string),
  base_url: optional(string),
  /** Environment variable that holds the key; read when a request is made. */
  env_key: optional(string),
  env_key_instructions: optional(string),
  /** The key is in the keychain of the operating system, kept under the provider's id. Ours. */
  keychain: withDefault(boolean, false),
  experimental_bearer_token: optional(string),
  wire_api: withDefault(literal('responses'), 'responses' as const),
  query_params: withDefault(record(string), {}),
  http_headers: withDefault(record(string), {}),
  env_http_headers: withDefault(record(string), {}),
  /** HTTP attempts beyond the first for transport errors and 5xx. */
  request_max_retries: withDefault(integer(0), 4),
  /** Requests sent again after a broken stream. */
  stream_max_retries: withDefault(integer(0), 5),
  /** No bytes for so long = broken stream. */
  stream_idle_timeout_ms: withDefault(integer(1), 300_000),
  requires_openai_auth: withDefault(boolean, false),
})
export type ModelProvider = Required<
  Pick<
    Infer<typeof providerKeys>,
    | 'query_params'
    | 'http_headers'
    | 'env_http_headers'
    | 'request_max_retries'
    | 'stream_max_retries'
    | 'stream_idle_timeout_ms'
    | 'requires_openai_auth'
    | 'keychain'
  >
> & {
  id: string
  name: string
  base_url: string
  env_key?: string
  env_key_instructions?: string
  experimental_bearer_token?: string
}

/** Providers that need no configuration. The two local ones are those programs' own default ports. */
const BUILT_IN: Readonly<Record<string, Record<string, unknown>>> = {
  openai: { name: 'OpenAI', base_url: 'https://api.openai.com/v1', env_key: 'OPENAI_API_KEY' },
  ollama: { name: 'Ollama', base_url: 'http://127.0.0.1:11434/v1' },
  lmstudio: { name: 'LM Studio', base_url: 'http://127.0.0.1:1234/v1' },
}
export const BUILT_IN_PROVIDER_IDS: readonly string[] = Object.keys(BUILT_IN)

/**
 * Looks up a provider in `model_providers` of the configuration, then among the built-in ones.
 * @throws DecodeError naming the key, e.g. `model_providers.x.base_url`
 */
export function resolveProvider(id: string, configured: Record<string, unknown>): ModelProvider {
  const at = `model_providers.${id}`
  const own = Object.hasOwn(configured, id) ? configured[id] : undefined
  const builtIn = Object.hasOwn(BUILT_IN, id) ? BUILT_IN[id] : undefined
  if (own === undefined && builtIn === undefined)
    throw new DecodeError('model_provider', `unknown provider "${id}"; add [${at}] with a base_url to config.toml`)
  if ((own as { wire_api?: unknown } | undefined)?.wire_api === 'chat')
    throw new DecodeError(
      `${at}.wire_api`,
      '"chat" is not supported; use a server with the Responses API and "responses"',
    )
  const { wire_api: _, ...keys } = decode(providerKeys, { ...builtIn, ...(own as object | undefined) }, at)
  if (keys.base_url === undefined)
    throw new DecodeError(`${at}.base_url`, 'is missing; give the address up to and including /v1')
  if (!/^https?:\/\/[^/]/.test(keys.base_url))
    throw new DecodeError(`${at}.base_url`, `expected an http or https address, got "${keys.base_url}"`)
  return {
    ...keys,
    id,
    name: keys.name ?? id,
    base_url: keys.base_url.replace(/\/+$/, ''),
    request_max_retries: Math.min(keys.request_max_retries, MAX_RETRIES),
    stream_max_retries: Math.min(keys.stream_max_retries, MAX_RETRIES),
  }
}

/** A provider's key is missing; the text says where it is looked for. */
export class MissingKey extends Error {}

/**
 * Headers for one request: bearer key, configured headers and headers from the environment. A key in the
 * configuration wins, then the keychain, then the variable.
 * @throws MissingKey when there is none where the configuration says; KeychainError
 */
export async function providerHeaders(
  provider: ModelProvider,
  secrets: ProviderSecrets,
): Promise<Record<string, string>> {
  const headers: Record<string, string> = { ...provider.http_headers }
  for (const [name, variable] of Object.entries(provider.env_http_headers)) {
    const value = await secrets.variable(variable)
    if (value !== undefined) headers[name] = value
  }
  const key = provider.experimental_bearer_token ?? (await secretKey(provider, secrets))
  if (key !== undefined && key !== '') headers.authorization = `Bearer ${key}`
  return headers
}

async function secretKey(provider: ModelProvider, secrets: ProviderSecrets): Promise<string | undefined> {
  const { id, name, env_key, env_key_instructions, keychain } = provider
  const kept = keychain ? await secrets.kept(id) : null
  if (kept !== null) return kept
  if (env_key === undefined) {
    if (!keychain) return undefined
    throw new MissingKey(`The keychain has no key for ${name}. Give it one in Settings, Model providers.`)
  }
  const value = await secrets.variable(env_key)
  if (value !== undefined) return value
  throw new MissingKey(
    `Missing environment variable: \`${env_key}\`. ${env_key_instructions ?? `It holds the key of ${name}; set it and start the session again.`}`,
  )
}
