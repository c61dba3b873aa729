/** RFC 6455 frames as a server sees them: incoming ones are masked, outgoing ones are not. */
import type { Framing, MessagePart } from './message-writer.ts'

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const FIN = 0x80
const MASKED = 0x80
const HEAD_OF_PART: Record<MessagePart, number> = {
  whole: FIN | OPCODE.text,
  first: OPCODE.text,
  middle: OPCODE.continuation,
  last: FIN | OPCODE.continuation,
}

export const websocketFraming: Framing = {
  tail: Buffer.alloc(0),
  headBytes: (size) => (size < 126 ? 2 : size < 65_536 ? 4 : 10),
  writeHead(target, offset, size, part) {
    target[offset] = HEAD_OF_PART[part]
    if (size < 126) target[offset + 1] = size
    else if (size < 65_536) {
      target[offset + 1] = 126
      target.writeUInt16BE(size, offset + 2)
    } else {
      target[offset + 1] = 127
      target.writeUInt32BE(Math.floor(size / 2 ** 32), offset + 2)
      target.writeUInt32BE(size >>> 0, offset + 6)
    }
  },
}

/** A control frame; its payload has at most 125 bytes. */
export function controlFrame(opcode: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from([FIN | opcode, payload.length]), payload])
}

export interface FrameHead {
  isFinal: boolean
  opcode: number
  payloadBytes: number
  /** Where the payload starts, counted from the first byte of the frame. */
  headBytes: number
  /** The four bytes of the mask, first byte lowest. */
  mask: number
}

/** The peer broke the protocol or a limit: the connection is of no more use. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

/**
 * Reads the head of a frame at `offset`; null while it is incomplete.
 * @throws FrameError
 */
export function readFrameHead(bytes: Buffer, offset: number): FrameHead | null {
  const available = bytes.length - offset
  if (available < 2) return null
  const first = bytes[offset] as number
  const second = bytes[offset + 1] as number
  if ((first & 0x70) !== 0) throw new FrameError('reserved bits are set')
  if ((second & MASKED) === 0) throw new FrameError('a frame of a client must be masked')
  const opcode = first & 0x0f
  const isFinal = (first & FIN) !== 0
  const short = second & 0x7f
  const headBytes = short < 126 ? 6 : short === 126 ? 8 : 14
  if (opcode > OPCODE.binary && (short > 125 || !isFinal)) throw new FrameError('a control frame is too long or cut')
  if (available < headBytes) return null
  const payloadBytes =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(offset + 2) : Number(bytes.readBigUInt64BE(offset + 2))
  return { isFinal, opcode, payloadBytes, headBytes, mask: bytes.readInt32LE(offset + headBytes - 4) }
}

/** From this size on looking at four bytes at a time pays for the view. */
const WORDWISE_BYTES = 512

/**
 * Removes the mask from bytes[from, to) in place. `phase` is how many bytes of the payload came before.
 * Short messages cost no memory here: they are by far the most.
 */
export function unmask(bytes: Buffer, from: number, to: number, mask: number, phase: number): void {
  let at = from
  const shift = () => ((phase + at - from) & 3) * 8
  if (to - from >= WORDWISE_BYTES) {
    for (; ((bytes.byteOffset + at) & 3) !== 0; at++) bytes[at] = (bytes[at] as number) ^ ((mask >>> shift()) & 0xff)
    const turn = shift()
    // Node runs on little-endian machines only (but for s390x, where this wire has never been seen).
    const key = turn === 0 ? mask : (mask >>> turn) | (mask << (32 - turn))
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (to - at) >>> 2)
    for (let w = 0; w < words.length; w++) words[w] = (words[w] as number) ^ key
    at += words.length * 4
  }
  for (let turn = shift(); at < to; at++, turn = (turn + 8) & 31)
    bytes[at] = (bytes[at] as number) ^ ((mask >>> turn) & 0xff)
}
