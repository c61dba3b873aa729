/** What a version of the realtime protocol calls things; a conversation speaks one of them. */

/** 16-bit mono PCM at this rate, in both directions. */
export const SAMPLE_RATE = 24_000
const BYTES_PER_SAMPLE = 2

export type Role = 'user' | 'developer' | 'assistant'
export type RealtimeVersion = 'v1' | 'v2' | 'v3'

export interface AudioChunk {
  /** Base64. */
  data: string
  sampleRate: number
  numChannels: number
  samplesPerChannel: number | null
  itemId: string | null
}

/** An event of the server as it came. */
export interface RealtimeEvent {
  type: string
  [member: string]: unknown
}

/** What it means. */
export type RealtimeNews =
  | { kind: 'started' }
  | { kind: 'audio'; chunk: AudioChunk }
  | { kind: 'delta'; role: 'user' | 'assistant'; text: string }
  | { kind: 'done'; role: 'user' | 'assistant'; text: string }
  | { kind: 'item'; item: unknown }
  /** The realtime model gives a task away; `id` is what its outcome is sent for. */
  | { kind: 'handOver'; id: string; itemId: string; text: string }
  | { kind: 'error'; message: string }

export interface SessionWishes {
  outputModality: 'text' | 'audio'
  voice: string
  instructions: string
  /** Without it the realtime model cannot start turns by itself. */
  canHandOver: boolean
  /** What was said before; only v3 takes it. */
  initialItems: readonly { role: Role; text: string }[]
}

/** A model to talk with, or a call that is set up already. */
export type RealtimePlace = { model: string } | { callId: string }

export interface Dialect {
  version: RealtimeVersion
  defaultModel: string
  defaultVoice: string
  voices: readonly string[]
  /** Beside those of the provider. */
  headers: Record<string, string>
  /** Below the provider's base URL. */
  address(place: RealtimePlace): { path: string; query: Record<string, string> }
  /** Where a client's SDP is sent, to set up a call. */
  calls: { path: string; query: Record<string, string> }
  /** The `session` that a call is set up with. */
  session(wishes: SessionWishes, model: string | null): object
  /** Sent when the connection is there; a call has had its session already where `isCall` gives nothing. */
  opening(wishes: SessionWishes, isCall: boolean): object[]
  audio(data: string): object
  text(role: Role, text: string): object[]
  /** Has words spoken. */
  speech(text: string): object[]
  /** What became of a task that was handed over. */
  outcome(handOverId: string, text: string): object[]
  /** Said before the connection is closed. */
  closing: object[]
  /** Null for what means nothing here. */
  read(event: RealtimeEvent): RealtimeNews | null
}

export const textOf = (event: RealtimeEvent, name: string): string =>
  typeof event[name] === 'string' ? event[name] : ''

/** A chunk of speech out of base64 text. */
export function audioChunk(data: string, itemId: unknown = null): AudioChunk {
  return {
    data,
    sampleRate: SAMPLE_RATE,
    numChannels: 1,
    samplesPerChannel: Math.floor(Buffer.byteLength(data, 'base64') / BYTES_PER_SAMPLE),
    itemId: typeof itemId === 'string' ? itemId : null,
  }
}

export const errorNews = (event: RealtimeEvent): RealtimeNews => {
  const { message } = (event.error ?? event) as { message?: unknown }
  return { kind: 'error', message: typeof message === 'string' ? message : 'unknown error' }
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
