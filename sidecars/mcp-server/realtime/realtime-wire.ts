/** The events of an OpenAI-compatible realtime server, as far as a conversation uses them. */

/** 16-bit mono PCM at this rate, in both directions. */
export const SAMPLE_RATE = 24_000
const BYTES_PER_SAMPLE = 2

export interface AudioChunk {
  /** Base64. */
  data: string
  sampleRate: number
  numChannels: number
  samplesPerChannel: number | null
  itemId: string | null
}

export interface RealtimeEvent {
  type: string
  [member: string]: unknown
}

/** The function that hands work over to the thread's own model. */
export const HAND_OVER_TOOL = 'hand_over'

export interface SessionWishes {
  outputModality: 'text' | 'audio'
  voice: string
  instructions: string
  /** Without it the realtime model cannot start turns by itself. */
  canHandOver: boolean
}

/** The `session` of `session.update`. */
export function sessionOf({ outputModality, voice, instructions, canHandOver }: SessionWishes): object {
  const format = { type: 'audio/pcm', rate: SAMPLE_RATE }
  return {
    type: 'realtime',
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

export const textItem = (role: 'user' | 'developer' | 'assistant', text: string): object => ({
  type: 'conversation.item.create',
  item: {
    type: 'message',
    // The wire has no developer.
    role: role === 'developer' ? 'system' : role,
    content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
  },
})

export const callOutput = (callId: string, output: string): object => ({
  type: 'conversation.item.create',
  item: { type: 'function_call_output', call_id: callId, output },
})

/** A chunk of speech out of an event's base64 text. */
export function audioChunk(event: RealtimeEvent): AudioChunk {
  const data = String(event.delta ?? '')
  return {
    data,
    sampleRate: SAMPLE_RATE,
    numChannels: 1,
    samplesPerChannel: Math.floor(Buffer.byteLength(data, 'base64') / BYTES_PER_SAMPLE),
    itemId: typeof event.item_id === 'string' ? event.item_id : null,
  }
}

/** Null for what is no event. */
export function readEvent(text: string): RealtimeEvent | null {
  try {
    const event = JSON.parse(text) as RealtimeEvent | null
    return typeof event?.type === 'string' ? event : null
  } catch {
    return null
  }
}
