/** `thread/realtime/*`: talking with a realtime model beside a thread's turns. */
import {
  array,
  boolean,
  integer,
  literal,
  nullable,
  object,
  optional,
  string,
  unknown,
  variant,
  withDefault,
  type Decoder,
} from '../../../protocol/decode.ts'
import type { RealtimeStart } from '../../engine/thread-realtime.ts'
import { uuid7 } from '../../engine/uuid7.ts'
import { resolveProvider } from '../../model/provider.ts'
import type { ProviderSecrets } from '../../model/provider-secrets.ts'
import { openCall, realtimeTarget } from '../../realtime/realtime-target.ts'
import { SAMPLE_RATE, type Dialect, type RealtimePlace, type SessionWishes } from '../../realtime/dialect.ts'
import { V1 } from '../../realtime/dialect-v1.ts'
import { V2 } from '../../realtime/dialect-v2.ts'
import { V3 } from '../../realtime/dialect-v3.ts'
import { REALTIME_VOICES } from '../../realtime/voices.ts'
import type { ConfigTable } from '../config-file.ts'
import { method, threadQueue, type Method } from '../method-table.ts'
import type { LoadedThread } from '../thread-manager.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'

const DIALECTS = { v1: V1, v2: V2, v3: V3 }
/** Of what was said before, for version 3. */
const MAX_INITIAL_ITEMS = 128
const MAX_INITIAL_TOKENS = 8192
const BYTES_PER_TOKEN = 4
/** What the conversation is told of the thread before it. */
const MAX_CONTEXT_CHARACTERS = 8000
const role = withDefault(literal('user', 'developer', 'assistant'), 'user' as const)

const startParams = object({
  threadId: string,
  outputModality: literal('text', 'audio'),
  transport: optional(
    variant('type', {
      websocket: object({}),
      webrtc: object({ sdp: string }),
      existingCall: object({ callId: string }),
    }),
  ),
  version: optional(literal('v1', 'v2', 'v3')),
  voice: optional(string),
  model: optional(string),
  prompt: optional(string),
  includeStartupContext: optional(boolean),
  clientManagedHandoffs: optional(boolean),
  realtimeStartInstructions: optional(string),
  realtimeEndInstructions: optional(string),
  realtimeSessionId: optional(string),
  initialItems: optional(array(object({ role: literal('user', 'developer', 'assistant'), text: string }))),
})
type StartParams = ReturnType<typeof startParams>

const audio = object({
  data: string,
  sampleRate: integer(1),
  numChannels: integer(1),
  samplesPerChannel: nullable(integer(0)),
  itemId: nullable(string),
})
/** PCM of another shape would only be noise to the server. */
const audioChunk: Decoder<ReturnType<typeof audio>> = (value, path) => {
  const chunk = audio(value, path)
  if (chunk.sampleRate !== SAMPLE_RATE)
    throw invalidRequest(`audio.sampleRate: expected ${SAMPLE_RATE}, got ${chunk.sampleRate}; resample it first`)
  if (chunk.numChannels !== 1) throw invalidRequest(`audio.numChannels: expected 1, got ${chunk.numChannels}`)
  return chunk
}

export function realtimeMethods(context: ServerContext): Record<string, Method> {
  const thread = (threadId: string) => context.threads.need(threadId)
  const common = { experimental: true, queue: threadQueue }
  return {
    'thread/realtime/start': method(startParams, {
      ...common,
      run: async (params) => {
        const loaded = thread(params.threadId)
        const { config } = await context.configFile.load()
        const dialect = dialectOf(params, config)
        check(params, dialect)
        await loaded.session.startRealtime(startOf(params, dialect, loaded, config, context.secrets))
        return {}
      },
    }),
    'thread/realtime/appendAudio': method(object({ threadId: string, audio: audioChunk }), {
      ...common,
      run: async ({ threadId, audio: chunk }) => {
        await thread(threadId).session.realtimeAudio(chunk)
        return {}
      },
    }),
    'thread/realtime/appendText': method(object({ threadId: string, text: string, role }), {
      ...common,
      run: async ({ threadId, text, role: who }) => {
        await thread(threadId).session.realtimeText(who, text)
        return {}
      },
    }),
    'thread/realtime/appendSpeech': method(object({ threadId: string, text: string }), {
      ...common,
      run: async ({ threadId, text }) => {
        await thread(threadId).session.realtimeSpeech(text)
        return {}
      },
    }),
    'thread/realtime/stop': method(object({ threadId: string }), {
      ...common,
      run: async ({ threadId }) => {
        await thread(threadId).session.stopRealtime()
        return {}
      },
    }),
    'thread/realtime/listVoices': method(unknown, { experimental: true, run: () => ({ voices: REALTIME_VOICES }) }),
  }
}

/** The request's, or `[realtime] version` of the configuration. */
function dialectOf({ version }: StartParams, config: ConfigTable): Dialect {
  const configured = (config.realtime as ConfigTable | undefined)?.version
  if (version !== undefined) return DIALECTS[version]
  return configured === 'v1' || configured === 'v3' ? DIALECTS[configured] : V2
}

function check({ voice, initialItems = [] }: StartParams, { version, voices }: Dialect): void {
  if (voice !== undefined && !voices.includes(voice))
    throw invalidRequest(`voice: "${voice}" is none of ${voices.join(', ')}`)
  if (initialItems.length > 0 && version !== 'v3')
    throw invalidRequest('initialItems: only version v3 has them; use thread/realtime/appendText')
  if (initialItems.length > MAX_INITIAL_ITEMS)
    throw invalidRequest(`initialItems: ${initialItems.length} are given, at most ${MAX_INITIAL_ITEMS} are taken`)
  const tokens = initialItems.reduce((sum, { text }) => sum + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN), 0)
  if (tokens > MAX_INITIAL_TOKENS)
    throw invalidRequest(`initialItems: about ${tokens} tokens are given, at most ${MAX_INITIAL_TOKENS} are taken`)
}

function startOf(
  params: StartParams,
  dialect: Dialect,
  { session }: LoadedThread,
  config: ConfigTable,
  secrets: ProviderSecrets,
): RealtimeStart {
  const text = (key: string): string | undefined =>
    typeof config[key] === 'string' ? (config[key] as string) : undefined
  const model = params.model ?? text('experimental_realtime_ws_model') ?? dialect.defaultModel
  const sessionId = params.realtimeSessionId ?? uuid7()
  const canHandOver = params.clientManagedHandoffs !== true
  const wishes: SessionWishes = {
    outputModality: params.outputModality,
    voice: params.voice ?? dialect.defaultVoice,
    instructions: [
      params.prompt ?? defaultPrompt(canHandOver),
      ...(params.includeStartupContext === false ? [] : [contextOf(session.history.all())]),
    ]
      .filter(Boolean)
      .join('\n\n'),
    canHandOver,
    initialItems: params.initialItems ?? [],
  }
  return {
    dialect,
    sessionId,
    wishes,
    startInstructions: params.realtimeStartInstructions ?? null,
    endInstructions: params.realtimeEndInstructions ?? null,
    target: async () => {
      const { provider: configured } = session.services
      const base = text('experimental_realtime_ws_base_url')
      const own = configured(session.settings)
      const provider =
        base === undefined
          ? own
          : { ...own, ...resolveProvider('realtime', { realtime: { base_url: base } }), env_key: own.env_key }
      const { transport } = params
      const at = (place: RealtimePlace) => realtimeTarget(provider, secrets, dialect, place, sessionId)
      if (transport?.type === 'existingCall') return { target: await at({ callId: transport.callId }), sdp: null }
      if (transport?.type !== 'webrtc') return { target: await at({ model }), sdp: null }
      const call = await openCall(provider, secrets, dialect, { model, wishes, sdp: transport.sdp, sessionId })
      return { target: await at({ callId: call.callId }), sdp: call.sdp }
    },
  }
}

const defaultPrompt = (canHandOver: boolean): string =>
  `You talk with a person about a coding session. Be brief.${canHandOver ? ' Whatever needs files or commands is handed over to the agent of the session.' : ''}`

/** The newest words of the thread, so that the conversation knows what it is about. */
function contextOf(history: readonly Record<string, unknown>[]): string {
  const lines: string[] = []
  let room = MAX_CONTEXT_CHARACTERS
  for (const item of [...history].reverse()) {
    if (item.type !== 'message' || (item.role !== 'user' && item.role !== 'assistant')) continue
    const parts = Array.isArray(item.content) ? (item.content as { text?: unknown }[]) : []
    const words = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join(' ')
    room -= words.length
    if (room < 0) break
    if (words !== '') lines.unshift(`${item.role === 'user' ? 'Person' : 'Agent'}: ${words}`)
  }
  return lines.length === 0 ? '' : `The session so far:\n${lines.join('\n')}`
}
