/** Version 2: the realtime API as it is documented; tasks are calls of a function. */
import {
  audioChunk,
  errorNews,
  SAMPLE_RATE,
  textOf,
  type Dialect,
  type RealtimeEvent,
  type RealtimePlace,
  type SessionWishes,
} from './dialect.ts'
import { V2_VOICES } from './voices.ts'

/** The function that hands work over to the thread's own model. */
const HAND_OVER_TOOL = 'hand_over'

function session({ outputModality, voice, instructions, canHandOver }: SessionWishes, model: string | null): object {
  const format = { type: 'audio/pcm', rate: SAMPLE_RATE }
  return {
    type: 'realtime',
    ...(model !== null && { model }),
    output_modalities: [outputModality],
    instructions,
    audio: {
      input: { format, turn_detection: { type: 'server_vad' } },
      ...(outputModality === 'audio' && { output: { format, voice } }),
    },
    ...(canHandOver && {
      tool_choice: 'auto',
      tools: [
        {
          type: 'function',
          name: HAND_OVER_TOOL,
          description:
            'Gives a task to the coding agent of this session, which can read and change files and run commands. Answers with what it said at the end.',
          parameters: {
            type: 'object',
            properties: { text: { type: 'string', description: 'The task, in the words of the person.' } },
            required: ['text'],
            additionalProperties: false,
          },
        },
      ],
    }),
  }
}

const placeQuery = (place: RealtimePlace): Record<string, string> =>
  'model' in place ? { model: place.model } : { call_id: place.callId }

export const V2: Dialect = {
  version: 'v2',
  defaultModel: 'gpt-realtime',
  defaultVoice: 'marin',
  voices: V2_VOICES,
  headers: {},
  address: (place) => ({ path: 'realtime', query: placeQuery(place) }),
  calls: { path: 'realtime/calls', query: {} },
  session,
  opening: (wishes) => [{ type: 'session.update', session: session(wishes, null) }],
  audio: (audio) => ({ type: 'input_audio_buffer.append', audio }),
  text: (role, text) => [
    {
      type: 'conversation.item.create',
      item: {
        type: 'message',
        // The wire has no developer.
        role: role === 'developer' ? 'system' : role,
        content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
      },
    },
    // Words of the person are answered; others are only noted.
    ...(role === 'user' ? [{ type: 'response.create' }] : []),
  ],
  speech: (text) => [
    {
      type: 'response.create',
      response: {
        output_modalities: ['audio'],
        instructions: `Say this to the person, word for word and nothing else:\n${text}`,
      },
    },
  ],
  outcome: (id, output) => [
    { type: 'conversation.item.create', item: { type: 'function_call_output', call_id: id, output } },
    { type: 'response.create' },
  ],
  closing: [],
  read: (event) => {
    switch (event.type) {
      case 'session.created':
      case 'session.updated':
        return { kind: 'started' }
      case 'response.output_audio.delta':
      case 'response.audio.delta':
        return { kind: 'audio', chunk: audioChunk(textOf(event, 'delta'), event.item_id) }
      case 'response.output_audio_transcript.delta':
      case 'response.audio_transcript.delta':
      case 'response.output_text.delta':
      case 'response.text.delta':
        return { kind: 'delta', role: 'assistant', text: textOf(event, 'delta') }
      case 'response.output_audio_transcript.done':
      case 'response.audio_transcript.done':
        return { kind: 'done', role: 'assistant', text: textOf(event, 'transcript') }
      case 'response.output_text.done':
      case 'response.text.done':
        return { kind: 'done', role: 'assistant', text: textOf(event, 'text') }
      case 'conversation.item.input_audio_transcription.delta':
        return { kind: 'delta', role: 'user', text: textOf(event, 'delta') }
      case 'conversation.item.input_audio_transcription.completed':
        return { kind: 'done', role: 'user', text: textOf(event, 'transcript') }
      case 'conversation.item.added':
      case 'conversation.item.created':
        return { kind: 'item', item: event.item }
      case 'response.output_item.done':
        return handOver(event)
      case 'error':
        return errorNews(event)
      default:
        return null
    }
  },
}

function handOver({ item }: RealtimeEvent): ReturnType<Dialect['read']> {
  const call = (item ?? {}) as Record<string, unknown>
  if (call.type !== 'function_call' || call.name !== HAND_OVER_TOOL) return null
  const id = String(call.call_id ?? '')
  const itemId = typeof call.id === 'string' ? call.id : id
  return { kind: 'handOver', id, itemId, text: handedText(String(call.arguments ?? '')) }
}

/** What cannot be read is handed over as it is: a person said it. */
function handedText(args: string): string {
  try {
    const { text } = JSON.parse(args) as { text?: unknown }
    return typeof text === 'string' ? text : args
  } catch {
    return args
  }
}
