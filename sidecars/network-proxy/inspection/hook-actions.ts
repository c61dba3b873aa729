/** What a matched hook does to a request: fields out and in, placeholders exchanged, signatures made anew. */
import type { Fields } from '../http/fields.ts'
import type { BodyWork } from '../http/request-hooks.ts'
import { hostValue } from '../http/forwarded-head.ts'
import type { Refusal } from '../policy/refusal.ts'
import { signChunksAgain } from './aws-chunks.ts'
import {
  needsBodyToSign,
  readAwsClaim,
  signAgain,
  signsChunks,
  type AwsClaim,
  type AwsCredentials,
  type SignableRequest,
  type Signed,
} from './aws-signature.ts'
import { substituteInBody, type BodySubstitution } from './body-substitution.ts'
import { exchangeInField } from './placeholder.ts'

export interface FieldInjection {
  name: string
  prefix: string
  secret: string
  /** Only a field that carries it gets the secret, in its place. */
  placeholder: string | undefined
}

export interface AwsSigning {
  /** Requests signed with it are signed anew; others pass as they are. */
  placeholderAccessKeyId: string
  region: string
  service: string
  credentials: AwsCredentials
  /** The only port for which requests are signed. */
  port: number
  maxBodyBytes: number
}

export interface HookAction {
  /** Lower case. */
  strip: readonly string[]
  inject: readonly FieldInjection[]
  substitution: BodySubstitution | undefined
  signing: AwsSigning | undefined
}

/** A request as actions see it; fields are changed in place. */
export interface ActedOn {
  host: string
  port: number
  method: string
  /** With the query. */
  path: string
  fields: Fields
}

export interface Performed {
  /** Lower-case names of fields that were put in. */
  injected: readonly string[]
  /** Values that must not come back. */
  secrets: readonly string[]
  /** Replaces the path, for signatures in it. */
  path: string | undefined
  /** Has to be done with the body before anything is sent. */
  bodyWork: BodyWork | undefined
}

/** Performs all actions of one hook. @throws MalformedHttp for a signature that cannot be read */
export function performActions(actions: readonly HookAction[], request: ActedOn): Performed | { refusal: Refusal } {
  const signing = actions.find((action) => action.signing)?.signing
  const signable: SignableRequest = { ...request, host: hostValue({ ...request, tls: true }) }
  const claim = signing && claimFor(signing, signable, request.port)
  if (signing && claim && (claim.region !== signing.region || claim.service !== signing.service))
    return { refusal: outOfScope(signing, claim) }
  const secrets: string[] = []
  const injected = injectFields(actions, request.fields, secrets)
  if (signing && claim) {
    const { accessKeyId, sessionToken } = signing.credentials
    secrets.push(accessKeyId, ...(sessionToken === undefined ? [] : [sessionToken]))
    injected.push('authorization', 'x-amz-security-token')
  }
  const substitutions = actions.flatMap(({ substitution }) => substitution ?? []).filter((s) => s.port === request.port)
  const sign = (body: Buffer | undefined): Signed | undefined =>
    signing && claim && signAgain(signable, claim, signing.credentials, body)
  const holdsBody = claim && needsBodyToSign(claim, request.fields)
  if (substitutions.length === 0 && !holdsBody)
    return { injected, secrets, path: sign(undefined)?.path, bodyWork: undefined }
  const limits = substitutions.map(({ maxBodyBytes }) => maxBodyBytes)
  if (holdsBody && signing) limits.push(signing.maxBodyBytes)
  const replacements = substitutions.flatMap((substitution) => substitution.replacements)
  secrets.push(...replacements.map(({ secret }) => secret))
  const bodyWork: BodyWork = {
    maxBytes: Math.min(...limits),
    finish(body) {
      const { fields } = request
      const changed = substituteInBody(body, fields, replacements)
      if (changed.length > 0 || fields.has('content-length')) fields.set('Content-Length', String(changed.length))
      // Whoever waits for permission to send has sent.
      fields.remove('expect')
      const signed = sign(changed)
      if (!signed || !signing || !claim || !signsChunks(fields)) return { body: changed, path: signed?.path }
      return { body: signChunksAgain(changed, signed.signature, claim, signing.credentials), path: signed.path }
    },
  }
  return { injected, secrets, path: undefined, bodyWork }
}

/** Strips and sets; what is injected is added to `secrets`, the names of its fields are returned. */
function injectFields(actions: readonly HookAction[], fields: Fields, secrets: string[]): string[] {
  const wanted = new Map<string, { name: string; value: string }>()
  for (const { name, prefix, secret, placeholder } of actions.flatMap(({ inject }) => inject)) {
    const key = name.toLowerCase()
    const value =
      placeholder === undefined
        ? `${prefix}${secret}`
        : exchanged([wanted.get(key)?.value ?? [], valuesOf(fields, key)].flat(), placeholder, { prefix, secret })
    if (value === undefined) continue
    wanted.set(key, { name, value })
    secrets.push(secret)
  }
  for (const { strip } of actions) for (const key of strip) fields.remove(key)
  for (const { name, value } of wanted.values()) fields.set(name, value)
  return [...wanted.keys()]
}

function exchanged(
  values: readonly string[],
  placeholder: string,
  { prefix, secret }: { prefix: string; secret: string },
): string | undefined {
  for (const value of values) {
    const found = exchangeInField(value, placeholder, secret)
    if (found !== undefined) return prefix === '' ? found : `${prefix}${secret}`
  }
  return undefined
}

function valuesOf(fields: Fields, key: string): string[] {
  return fields.values.filter((_, at) => fields.keys[at] === key)
}

function claimFor(signing: AwsSigning, request: SignableRequest, port: number): AwsClaim | undefined {
  if (port !== signing.port) return undefined
  const claim = readAwsClaim(request)
  return claim?.accessKeyId === signing.placeholderAccessKeyId ? claim : undefined
}

function outOfScope({ region, service }: AwsSigning, claim: AwsClaim): Refusal {
  return {
    reason: 'mitm_hook_denied',
    source: 'baseline_policy',
    detail: `the hook signs for ${service} in ${region}, the request is for ${claim.service} in ${claim.region}`,
  }
}
