import { boolean, decode, DecodeError, object, optional, string, type Decoder } from '../../protocol/decode.ts'
import { formatPublicKeys, publicKeys, type PublicKeys } from './noise-keys.ts'

/** How both sides agree to secure what goes between them. */
const PROFILE = 'noise_hybrid_ik_v1'
const REQUEST_TIMEOUT_MS = 10_000
/** Of an answer that is no success this much is looked at. */
const MAX_ERROR_BYTES = 4096

/** The registry said no, or nothing that can be understood. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError'
  constructor(
    message: string,
    /** HTTP status; null when there was no answer. */
    readonly status: number | null,
  ) {
    super(message)
  }
}

/** A registration of this executor, until the rendezvous forgets it. */
export interface Registration {
  /** Address of the rendezvous. */
  url: string
  registrationId: string
}
/** What one connection to an executor needs; good for one. */
export interface ConnectBundle extends Registration {
  executorKeys: PublicKeys
  /** Shown to the executor, which lets the registry judge it. */
  authorization: string
}

const registered = object({
  environment_id: string,
  url: string,
  security_profile: string,
  executor_registration_id: string,
})
const connected = object({
  environment_id: string,
  url: string,
  security_profile: string,
  executor_registration_id: string,
  executor_public_key: publicKeys,
  harness_key_authorization: string,
})
const validated = object({ valid: optional(boolean) })
const refusal = object({ error: optional(object({ code: optional(string), message: optional(string) })) })

export interface RegistryOptions {
  /** `https://…`, with or without slashes at its end. */
  baseUrl: string
  environmentId: string
  /** Shown as a bearer token. */
  token: string
  /** `chatgpt-account-id`, for those who have one. */
  accountId?: string
}

/** Where executors and those who want to reach them find each other. Redirects are never followed. */
export class Registry {
  constructor(private readonly options: RegistryOptions) {}

  /** As an executor. @throws RegistryError */
  async register(keys: PublicKeys): Promise<Registration> {
    const body = { security_profile: PROFILE, executor_public_key: formatPublicKeys(keys) }
    const answer = this.checked(await this.post('register', body, registered))
    return { url: answer.url, registrationId: answer.executor_registration_id }
  }

  /** As somebody who wants to reach the executor. @throws RegistryError */
  async connect(keys: PublicKeys, signal?: AbortSignal): Promise<ConnectBundle> {
    const answer = this.checked(
      await this.post('connect', { harness_public_key: formatPublicKeys(keys) }, connected, { signal }),
    )
    if (answer.harness_key_authorization === '') throw new RegistryError('the registry gave no authorization', null)
    return {
      url: answer.url,
      registrationId: answer.executor_registration_id,
      executorKeys: answer.executor_public_key,
      authorization: answer.harness_key_authorization,
    }
  }

  /** Whether who connects may. @throws RegistryError, with status 401 when our own token is not accepted */
  async validate(
    harness: { registrationId: string; keys: PublicKeys; authorization: string; streamId: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = {
      executor_registration_id: harness.registrationId,
      harness_public_key: formatPublicKeys(harness.keys),
      harness_key_authorization: harness.authorization,
    }
    const headers = { 'x-codex-noise-stream-id': harness.streamId }
    return (await this.post('validate', body, validated, { headers, signal })).valid === true
  }

  private checked<T extends { environment_id: string; security_profile: string }>(answer: T): T {
    if (answer.environment_id !== this.options.environmentId)
      throw new RegistryError('environment registry returned a different environment id', null)
    if (answer.security_profile !== PROFILE)
      throw new RegistryError(
        `environment registry returned unsupported security profile \`${answer.security_profile}\``,
        null,
      )
    return answer
  }

  private async post<T>(
    action: string,
    body: unknown,
    decoder: Decoder<T>,
    { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const { baseUrl, environmentId, token, accountId } = this.options
    const url = `${baseUrl.replace(/\/+$/, '')}/cloud/environment/${environmentId}/${action}`
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(new Error('it did not answer in time')), REQUEST_TIMEOUT_MS)
    const onAbort = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        signal: stop.signal,
        body: JSON.stringify(body),
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          ...(accountId === undefined ? {} : { 'chatgpt-account-id': accountId }),
          ...headers,
        },
      })
      if (!response.ok) throw await failureOf(response)
      return decode(decoder, await response.json())
    } catch (error) {
      throw asRegistryError(error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }
}

async function failureOf(response: Response): Promise<RegistryError> {
  const { status, statusText } = response
  const { code, message } = await wordsOf(response)
  const name = `${status} ${statusText}`.trim()
  const what = `(${code === undefined ? name : `${name}, ${code}`})${message === undefined ? '' : `: ${message}`}`
  return new RegistryError(
    status === 401 || status === 403
      ? `environment registry authentication error: environment registry authentication failed ${what}`
      : `environment registry request failed ${what}`,
    status,
  )
}

async function wordsOf(response: Response): Promise<{ code?: string; message?: string }> {
  const text = await startOf(response)
  try {
    return decode(refusal, JSON.parse(text)).error ?? {}
  } catch {
    const preview = text.trim()
    return preview === '' ? {} : { message: preview }
  }
}

async function startOf({ body }: Response): Promise<string> {
  if (!body) return ''
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  for (let sizeBytes = 0; sizeBytes < MAX_ERROR_BYTES;) {
    const { value, done } = await reader.read()
    if (done) break
    chunks.push(value)
    sizeBytes += value.length
  }
  await reader.cancel()
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString('utf8')
}

function asRegistryError(error: unknown): RegistryError {
  if (error instanceof RegistryError) return error
  if (error instanceof DecodeError || error instanceof SyntaxError)
    return new RegistryError(`environment registry answered what cannot be understood: ${error.message}`, null)
  const { message, cause } = error as Error
  const why = cause instanceof Error ? cause.message : message
  return new RegistryError(`environment registry cannot be reached: ${why}`, null)
}
