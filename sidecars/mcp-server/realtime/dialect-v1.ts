/** Version 1: sessions of type `quicksilver`, tasks as handoffs. */
import { audioChunk, errorNews, SAMPLE_RATE, textOf, type Dialect, type SessionWishes } from './dialect.ts'
import { V1_VOICES } from './voices.ts'

/** For words that belong to no handoff of the model's. */
const NO_HANDOFF = 'codex'
/** Tells the model that this is what the agent said in the end. */
const OUTCOME_PREFIX = '"Agent Final Message":\n\n'
const INTENT = { intent: 'quicksilver' }

const session = ({ instructions, voice }: SessionWishes, model: string | null): object => ({
  type: 'quicksilver',
  ...(model !== null && { model }),
  instructions,
  audio: { input: { format: { type: 'audio/pcm', rate: SAMPLE_RATE } }, output: { voice } },
})

export const V1: Dialect = {
  version: 'v1',
  defaultModel: 'gpt-realtime-1.5',
  defaultVoice: 'cove',
  voices: V1_VOICES,
  headers: { 'openai-alpha': 'quicksilver=v1' },
  address: (place) => ({
    path: 'realtime',
    query: { ...INTENT, ...('model' in place ? { model: place.model } : { call_id: place.callId }) },
  }),
  calls: { path: 'realtime/calls', query: { ...INTENT, architecture: 'avas' } },
  session,
  opening: (wishes) => [{ type: 'session.update', session: session(wishes, null) }],
  audio: (audio) => ({ type: 'input_audio_buffer.append', audio }),
  text: (role, text) => [
    { type: 'conversation.item.create', item: { type: 'message', role, content: [{ type: 'input_text', text }] } },
  ],
  speech: (text) => [{ type: 'conversation.handoff.append', handoff_id: NO_HANDOFF, output_text: text }],
  outcome: (id, text) => [
    { type: 'conversation.handoff.append', handoff_id: id, output_text: `${OUTCOME_PREFIX}${text}` },
  ],
  closing: [],
  read: (event) => {
    switch (event.type) {
      case 'session.created':
      case 'session.updated':
        return { kind: 'started' }
      case 'conversation.output_audio.delta': {
        const { sample_rate: rate, channels = event.num_channels, samples_per_channel: samples } = event
        const chunk = audioChunk(textOf(event, 'delta') || textOf(event, 'data'))
        return {
          kind: 'audio',
          chunk: {
            ...chunk,
            ...(typeof rate === 'number' && { sampleRate: rate }),
            ...(typeof channels === 'number' && { numChannels: channels }),
            ...(typeof samples === 'number' && { samplesPerChannel: samples }),
          },
        }
      }
      case 'conversation.input_transcript.delta':
      case 'conversation.item.input_audio_transcription.delta':
        return { kind: 'delta', role: 'user', text: textOf(event, 'delta') }
      case 'conversation.item.input_audio_transcription.completed':
        return { kind: 'done', role: 'user', text: textOf(event, 'transcript') }
      case 'conversation.output_transcript.delta':
      case 'response.output_text.delta':
      case 'response.output_audio_transcript.delta':
        return { kind: 'delta', role: 'assistant', text: textOf(event, 'delta') }
      case 'response.output_audio_transcript.done':
        return { kind: 'done', role: 'assistant', text: textOf(event, 'transcript') }
      case 'conversation.item.added':
        return { kind: 'item', item: event.item }
      case 'conversation.handoff.requested': {
        const id = textOf(event, 'handoff_id')
        const text = textOf(event, 'input_transcript')
        return id === '' ? null : { kind: 'handOver', id, itemId: textOf(event, 'item_id') || id, text }
      }
      case 'error':
        return errorNews(event)
      default:
        return null
    }
  },
}
