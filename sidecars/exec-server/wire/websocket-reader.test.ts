import fc from '../../testing/fast-check.ts'
import { describe, expect, it } from 'vitest'
import { OPCODE } from './websocket-frames.ts'
import { MAX_MESSAGE_BYTES, WebSocketReader } from './websocket-reader.ts'

/** A frame as a client sends it. */
function clientFrame(payload: Buffer, opcode: number = OPCODE.text, isFinal = true, mask = [1, 2, 3, 4]): Buffer {
  const { length } = payload
  const head =
    length < 126
      ? Buffer.from([0, 0x80 | length])
      : length < 65_536
        ? Buffer.from([0, 0xfe, length >> 8, length & 255])
        : Buffer.concat([Buffer.from([0, 0xff, 0, 0, 0, 0]), Buffer.from(Uint32Array.of(length).buffer).reverse()])
  head[0] = (isFinal ? 0x80 : 0) | opcode
  const masked = Buffer.from(payload.map((byte, i) => byte ^ (mask[i & 3] as number)))
  return Buffer.concat([head, Buffer.from(mask), masked])
}

function collector() {
  const messages: Buffer[] = []
  const controls: { opcode: number; payload: string }[] = []
  const reader = new WebSocketReader({
    onMessage: (message) => messages.push(Buffer.from(message)),
    onControl: (opcode, payload) => controls.push({ opcode, payload: payload.toString() }),
  })
  return { reader, messages, controls }
}

/** Feeds as a socket does: into the memory that the reader offers. */
function feed(reader: WebSocketReader, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) {
    const room = reader.room()
    const read = bytes.copy(room, 0, at, at + room.length)
    reader.filled(read)
    at += read
  }
}

function cut(bytes: Buffer, places: number[]): Buffer[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i] ?? bytes.length))
}

describe('the reader of a WebSocket', () => {
  it('gives every message whole and in order, however the bytes are cut', () => {
    const message = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 60_000, max: 200_000 }).map((size) => new Uint8Array(size).fill(size & 255)),
    )
    fc.assert(
      fc.property(
        fc.array(fc.tuple(message, fc.array(fc.nat(200_000), { maxLength: 3 })), { maxLength: 6 }),
        fc.array(fc.nat(1_000_000), { maxLength: 12 }),
        fc.uint8Array({ minLength: 4, maxLength: 4 }),
        (sent, places, mask) => {
          const bytes = Buffer.concat(
            sent.flatMap(([payload, fragments]) => {
              const parts = cut(Buffer.from(payload), fragments)
              return parts.map((part, i) =>
                clientFrame(part, i === 0 ? OPCODE.text : OPCODE.continuation, i === parts.length - 1, [...mask]),
              )
            }),
          )
          const { reader, messages } = collector()
          for (const piece of cut(bytes, places)) feed(reader, piece)
          expect(messages.map((m) => m.length)).toEqual(sent.map(([payload]) => payload.length))
          sent.forEach(([payload], i) => expect(messages[i]?.equals(payload)).toBe(true))
        },
      ),
      { numRuns: 60 },
    )
  })

  it('answers pings between the frames of one message', () => {
    const { reader, messages, controls } = collector()
    feed(reader, clientFrame(Buffer.from('ab'), OPCODE.text, false))
    feed(reader, clientFrame(Buffer.from('hello'), OPCODE.ping))
    feed(reader, clientFrame(Buffer.from('cd'), OPCODE.continuation, true))
    expect(messages.map(String)).toEqual(['abcd'])
    expect(controls).toEqual([{ opcode: OPCODE.ping, payload: 'hello' }])
  })

  it('keeps what comes while paused, also in the middle of a long frame', () => {
    const long = Buffer.alloc(300_000, 'x')
    const { reader, messages } = collector()
    const frame = clientFrame(long)
    feed(reader, frame.subarray(0, 100_000))
    const roomBefore = reader.room()
    reader.pause()
    // A read that was already under way when the pause came.
    reader.filled(frame.copy(roomBefore, 0, 100_000, 100_000 + 1_000))
    feed(reader, frame.subarray(101_000, 150_000))
    reader.resume()
    feed(reader, Buffer.concat([frame.subarray(150_000), clientFrame(Buffer.from('next'))]))
    expect(messages.map((m) => m.length)).toEqual([300_000, 4])
    expect(messages[0]?.equals(long)).toBe(true)
  })

  it.each([
    ['an unmasked frame', Buffer.from([0x81, 1, 0x61])],
    ['reserved bits', Buffer.from([0xc1, 0x80, 0, 0, 0, 0])],
    ['a control frame that is cut', Buffer.from([0x09, 0x80, 0, 0, 0, 0])],
    ['a long control frame', Buffer.from([0x89, 0xfe, 0, 200, 0, 0, 0, 0])],
    ['an unknown opcode', Buffer.from([0x8b, 0x80, 0, 0, 0, 0])],
    ['a continuation of nothing', clientFrame(Buffer.from('a'), OPCODE.continuation)],
    [
      'a message inside another',
      Buffer.concat([clientFrame(Buffer.from('a'), OPCODE.text, false), clientFrame(Buffer.from('b'))]),
    ],
    ['a frame over the limit', Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x10, 0, 0, 0, 1, 2, 3, 4])],
    ['a frame of 2^63 bytes', Buffer.from([0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])],
  ])('refuses %s', (_, bytes) => {
    const { reader } = collector()
    expect(() => feed(reader, bytes)).toThrow()
  })

  it('refuses fragments that together are over the limit', () => {
    const { reader } = collector()
    const head = (opcode: number) => Buffer.from([opcode, 0xff, 0, 0, 0, 0, 0x03, 0, 0, 0, 0, 0, 0, 0])
    const part = Buffer.alloc(0x0300_0000)
    expect(2 * part.length).toBe(MAX_MESSAGE_BYTES)
    feed(reader, Buffer.concat([head(OPCODE.text), part]))
    feed(reader, Buffer.concat([head(OPCODE.continuation), part]))
    expect(() => feed(reader, clientFrame(Buffer.from('x'), OPCODE.continuation))).toThrow(/limit/)
  })
})
