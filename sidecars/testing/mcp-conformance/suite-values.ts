import type { CallToolResult } from '@modelcontextprotocol/server'

/** The smallest PNG: one transparent pixel. */
export const PNG_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

export const IMAGE = { type: 'image' as const, data: PNG_BASE64, mimeType: 'image/png' }
export const SOUND = { type: 'audio' as const, data: emptyWave().toString('base64'), mimeType: 'audio/wav' }

export function text(words: string): CallToolResult {
  return { content: [{ type: 'text', text: words }] }
}

/** A WAV file of no samples: 8 kHz, mono, 8 bit. */
function emptyWave(): Buffer {
  const wave = Buffer.alloc(44)
  wave.write('RIFF', 0)
  wave.writeUInt32LE(36, 4)
  wave.write('WAVEfmt ', 8)
  wave.writeUInt32LE(16, 16)
  wave.writeUInt16LE(1, 20)
  wave.writeUInt16LE(1, 22)
  wave.writeUInt32LE(8000, 24)
  wave.writeUInt32LE(8000, 28)
  wave.writeUInt16LE(1, 32)
  wave.writeUInt16LE(8, 34)
  wave.write('data', 36)
  return wave
}
