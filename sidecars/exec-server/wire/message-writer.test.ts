import { Writable } from 'node:stream'
import fc from '../../testing/fast-check.ts'
import { describe, expect, it } from 'vitest'
import { HIGH_WATER_BYTES } from './carrier.ts'
import { lineFraming } from './line-carrier.ts'
import type { Fill, MessagePiece } from './message-piece.ts'
import { MessageWriter } from './message-writer.ts'
import { giveSlab, SLAB_BYTES, takeSlab } from './slab.ts'

/** A stream whose reader takes bytes when the test says so. */
class Gate extends Writable {
  readonly taken: Buffer[] = []
  private waiting: (() => void) | undefined
  isOpen = true

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    const take = () => {
      // A copy now: the writer uses its memory again after this.
      this.taken.push(Buffer.from(chunk))
      callback()
    }
    if (this.isOpen) take()
    else this.waiting = take
  }
  open(): void {
    this.isOpen = true
    const { waiting } = this
    this.waiting = undefined
    waiting?.()
  }
  get text(): string {
    return Buffer.concat(this.taken).toString('utf8')
  }
}

function writerOn(gate: Gate) {
  let drained = 0
  const writer = new MessageWriter(gate, lineFraming, () => drained++)
  return { writer, drains: () => drained }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the writer of messages', () => {
  it('writes text, also beyond ASCII, and the messages of one turn together', async () => {
    const gate = new Gate()
    const { writer } = writerOn(gate)
    writer.sendText('{"a":1}')
    writer.sendText('{"ü":"€😀"}')
    await turn()
    expect(gate.text).toBe('{"a":1}\n{"ü":"€😀"}\n')
    expect(gate.taken).toHaveLength(1)
  })

  it('loses, doubles and reorders nothing, whatever the reader does', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('text' as const), size: fc.nat(2_000) }),
      fc.record({ do: fc.constant('filled' as const), size: fc.nat(400_000) }),
      fc.record({
        do: fc.constant('parts' as const),
        sizes: fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 1, maxLength: 4 }),
      }),
      fc.constant({ do: 'close gate' as const }),
      fc.constant({ do: 'open gate' as const }),
      fc.constant({ do: 'turn' as const }),
    )
    // Three writers, because they share their memory.
    const turns = fc.array(fc.tuple(fc.nat(2), step), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(turns, async (steps) => {
        const lines = [0, 1, 2].map(() => {
          const gate = new Gate()
          return { gate, writer: writerOn(gate).writer, expected: [] as string[] }
        })
        let next = 0
        for (const [who, s] of steps) {
          const { gate, writer, expected } = lines[who] as (typeof lines)[number]
          const body = (size: number) => `${who}.${next++}:`.padEnd(size + 8, String(who))
          if (s.do === 'text') {
            expected.push(body(s.size))
            writer.sendText(expected.at(-1) as string)
          } else if (s.do === 'filled') {
            const text = body(s.size)
            expected.push(text)
            writer.sendFilled(text.length, (target, offset) => offset + target.write(text, offset, 'latin1'))
          } else if (s.do === 'parts') {
            const parts = s.sizes.map((size) => body(size))
            expected.push(parts.join(''))
            void writer.sendParts(slowly(parts.slice(0, -1)), pieceOf(parts.at(-1) ?? ''))
          } else if (s.do === 'close gate') gate.isOpen = false
          else if (s.do === 'open gate') gate.open()
          else await turn()
        }
        for (const { gate, expected } of lines) {
          for (let i = 0; i < 200 && gate.text.length < expected.join('\n').length + 1; i++) {
            gate.open()
            await turn()
          }
          expect(gate.text.split('\n').slice(0, -1)).toEqual(expected)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('says when too much is waiting and when it is not any more', async () => {
    const gate = new Gate()
    gate.isOpen = false
    const { writer, drains } = writerOn(gate)
    for (let sent = 0; sent <= HIGH_WATER_BYTES; sent += 100_000) writer.sendFilled(100_000, filledWith('y', 100_000))
    await turn()
    expect(writer.isCongested).toBe(true)
    expect(drains()).toBe(0)
    for (let i = 0; i < 50; i++) {
      gate.open()
      await turn()
    }
    expect(writer.isCongested).toBe(false)
    expect(drains()).toBe(1)
  })

  it('asks for the next part of a long message only when there is room', async () => {
    const gate = new Gate()
    gate.isOpen = false
    const { writer } = writerOn(gate)
    let made = 0
    async function* parts() {
      for (; made < 50; made++) yield pieceOf('z'.repeat(300_000))
    }
    const sent = writer.sendParts(parts(), pieceOf(''))
    for (let i = 0; i < 20; i++) await turn()
    expect(made).toBeLessThan(8)
    for (let i = 0; i < 200; i++) {
      gate.open()
      await turn()
    }
    await sent
    expect(gate.text).toHaveLength(50 * 300_000 + 1)
  })

  it('sends nothing of a message that is not as long as it was said to be', async () => {
    const gate = new Gate()
    const { writer } = writerOn(gate)
    writer.sendText('before')
    expect(() => writer.sendFilled(10, filledWith('s', 9))).toThrow('a message was 1 bytes shorter than its size said')
    writer.sendText('behind')
    await turn()
    expect(gate.text).toBe('before\nbehind\n')
  })

  it('owns no memory while nothing is waiting, and never shares what is', async () => {
    const gate = new Gate()
    const { writer } = writerOn(gate)
    const spare = takeSlab(SLAB_BYTES)
    giveSlab(spare)
    writer.sendText('one')
    await turn()
    expect(takeSlab(SLAB_BYTES) === spare).toBe(true)
    giveSlab(spare)

    gate.isOpen = false
    writer.sendText('two')
    await turn()
    // It is in the queue: whoever asks for memory now gets another piece.
    const other = takeSlab(SLAB_BYTES)
    expect(other === spare).toBe(false)
    gate.open()
    await turn()
    await turn()
    expect(takeSlab(SLAB_BYTES) === spare).toBe(true)
    giveSlab(spare)
    giveSlab(other)
    expect(gate.text).toBe('one\ntwo\n')
  })

  it('gives its memory back when it ends, but not before the last bytes are gone', async () => {
    const gate = new Gate()
    gate.isOpen = false
    const { writer } = writerOn(gate)
    const spare = takeSlab(SLAB_BYTES)
    giveSlab(spare)
    writer.sendText('last words')
    await turn()
    writer.end()
    const other = takeSlab(SLAB_BYTES)
    expect(other === spare).toBe(false)
    gate.open()
    await turn()
    await turn()
    expect(takeSlab(SLAB_BYTES) === spare).toBe(true)
    giveSlab(spare)
    giveSlab(other)
    expect(gate.text).toBe('last words\n')
  })
})

async function* slowly(parts: string[]): AsyncGenerator<MessagePiece> {
  for (const part of parts) {
    await turn()
    yield pieceOf(part)
  }
}

function pieceOf(text: string): MessagePiece {
  return { sizeBytes: text.length, fill: (target, offset) => offset + target.write(text, offset, 'latin1') }
}

function filledWith(letter: string, count: number): Fill {
  return (target, offset) => {
    target.fill(letter, offset, offset + count)
    return offset + count
  }
}
