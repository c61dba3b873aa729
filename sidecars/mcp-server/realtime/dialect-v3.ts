/** Version 3: a live session that context is added to, tasks as delegations to the client. */
import {
  audioChunk,
  errorNews,
  textOf,
  type Dialect,
  type RealtimeEvent,
  type RealtimePlace,
  type SessionWishes,
} from './dialect.ts'
import { V3_VOICES } from './voices.ts'

/** Longer context goes in pieces; the server takes no more at once. */
const MAX_CONTEXT_BYTES = 500

const session = ({ instructions, voice, initialItems }: SessionWishes, model: string | null): object => ({
  ...(model !== null && { model }),
  instructions,
  audio: { output: { voice } },
  delegation: { type: 'client' },
  ...(initialItems.length > 0 && {
    initial_items: initialItems.map(({ role, text }) => ({
      type: 'message',
      role,
      content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
    })),
  }),
})

const inPieces = (text: string, message: object): object[] =>
  piecesOf(text).map((piece) => ({ ...message, content: [{ type: 'input_text', text: piece }] }))

const liveAddress = (place: RealtimePlace): ReturnType<Dialect['address']> =>
  'model' in place
    ? { path: 'live', query: { model: place.model } }
    : { path: `live/${encodeURIComponent(place.callId)}`, query: {} }

export const V3: Dialect = {
  version: 'v3',
  defaultModel: 'gpt-live-1.1-codex',
  defaultVoice: 'marin',
  voices: V3_VOICES,
  headers: { 'openai-alpha': 'quicksilver=v2' },
  address: liveAddress,
  calls: { path: 'live', query: {} },
  session,
  opening: (wishes, isCall) => (isCall ? [] : [{ type: 'session.update', session: session(wishes, null) }]),
  audio: (audio) => ({ type: 'input_audio.append', audio }),
  // It has no roles.
  text: (_, text) => inPieces(text, { type: 'session.context.append' }),
  speech: (text) => inPieces(text, { type: 'session.context.append', channel: 'speakable' }),
  outcome: (id, text) => inPieces(text, { type: 'delegation.context.append', delegation_item_id: id }),
  closing: [{ type: 'session.close' }],
  read: (event) => {
    switch (event.type) {
      case 'session.created':
      case 'session.started':
      case 'session.updated':
        return { kind: 'started' }
      case 'output_audio.delta':
        return { kind: 'audio', chunk: audioChunk(textOf(event, 'delta') || textOf(event, 'audio')) }
      case 'input_transcript.added':
        return { kind: 'delta', role: 'user', text: itemText(event) }
      case 'output_transcript.added':
        return { kind: 'delta', role: 'assistant', text: itemText(event) }
      case 'delegation.created':
        return delegation(event)
      case 'error':
        return errorNews(event)
      default:
        return null
    }
  },
}

const itemText = ({ item }: RealtimeEvent): string => {
  const { text } = (item ?? {}) as { text?: unknown }
  return typeof text === 'string' ? text : ''
}

/** Only delegations to the client are for us. */
function delegation({ item }: RealtimeEvent): ReturnType<Dialect['read']> {
  const { id, type, target, content } = (item ?? {}) as Record<string, unknown>
  if (typeof id !== 'string' || type !== 'delegation' || target !== 'client') return null
  const parts = Array.isArray(content) ? (content as { text?: unknown }[]) : []
  const text = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('')
  return { kind: 'handOver', id, itemId: id, text }
}

/** Cut at character borders. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  let piece = ''
  let bytes = 0
  for (const character of text) {
    const size = Buffer.byteLength(character)
    if (bytes + size > MAX_CONTEXT_BYTES) {
      pieces.push(piece)
      piece = ''
      bytes = 0
    }
    piece += character
    bytes += size
  }
  return piece === '' ? pieces : [...pieces, piece]
}
