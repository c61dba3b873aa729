import { Writable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HIGH_WATER_BYTES } from './carrier.ts'
import { lineFraming } from './line-carrier.ts'
import { MessageWriter, type MessagePiece } from './message-writer.ts'

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
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const gate = new Gate()
        const { writer } = writerOn(gate)
        const expected: string[] = []
        let next = 0
        const body = (size: number) => `${next++}:`.padEnd(size + 8, 'x')
        for (const s of steps) {
          if (s.do === 'text') {
            expected.push(body(s.size))
            writer.sendText(expected.at(-1) as string)
          } else if (s.do === 'filled') {
            const text = body(s.size)
            expected.push(text)
            writer.sendFilled(text.length, (target, offset) => void target.write(text, offset, 'latin1'))
          } else if (s.do === 'parts') {
            const parts = s.sizes.map((size) => body(size))
            expected.push(parts.join(''))
            void writer.sendParts(slowly(parts.slice(0, -1)), pieceOf(parts.at(-1) ?? ''))
          } else if (s.do === 'close gate') gate.isOpen = false
          else if (s.do === 'open gate') gate.open()
          else await turn()
        }
        for (let i = 0; i < 200 && gate.text.length < expected.join('\n').length + 1; i++) {
          gate.open()
          await turn()
        }
        expect(gate.text.split('\n').slice(0, -1)).toEqual(expected)
      }),
      { numRuns: 60 },
    )
  })

  it('says when too much is waiting and when it is not any more', async () => {
    const gate = new Gate()
    gate.isOpen = false
    const { writer, drains } = writerOn(gate)
    for (let sent = 0; sent <= HIGH_WATER_BYTES; sent += 100_000)
      writer.sendFilled(100_000, (target, offset) => target.fill('y', offset, offset + 100_000))
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
})

async function* slowly(parts: string[]): AsyncGenerator<MessagePiece> {
  for (const part of parts) {
    await turn()
    yield pieceOf(part)
  }
}

function pieceOf(text: string): MessagePiece {
  return { sizeBytes: text.length, fill: (target, offset) => void target.write(text, offset, 'latin1') }
}
