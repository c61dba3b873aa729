import { randomBytes } from 'node:crypto'
import fc from '../../testing/fast-check.ts'
import { describe, expect, it } from 'vitest'
import { CipherState } from './noise-state.ts'
import { RecordChannel } from './record-channel.ts'

function pair() {
  const key = randomBytes(32)
  const back = randomBytes(32)
  const heard: Buffer[] = []
  const sender = new RecordChannel({ sending: new CipherState(key), receiving: new CipherState(back) }, () => {})
  const receiver = new RecordChannel({ sending: new CipherState(back), receiving: new CipherState(key) }, (message) =>
    heard.push(Buffer.from(message)),
  )
  return { sender, receiver, heard, key }
}

describe('messages', () => {
  it('arrive whole and in order, whatever order and however often their records come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(200_000), { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
        (sizes, order) => {
          const { sender, receiver, heard } = pair()
          const messages = sizes.map((size, i) => Buffer.alloc(size + 1, i + 1))
          const records = messages.flatMap((message) => sender.seal(message))
          // Each is displaced a little, and some come twice.
          const sent = records
            .flatMap((record, i) => ((order[i % 40] as number) % 5 === 0 ? [record, record] : [record]))
            .map((record, i) => ({ record, at: i + ((order[(i * 7) % 40] as number) % 12) }))
            .sort((a, b) => a.at - b.at)
          for (const { record } of sent) receiver.receive(record.seq, record.payload)
          expect(heard.length).toBe(messages.length)
          heard.forEach((message, i) => expect(message.equals(messages[i] as Buffer)).toBe(true))
        },
      ),
      { numRuns: 30 },
    )
  })

  it('are cut into records of 61,440 bytes, the length in front of the first', () => {
    const { sender } = pair()
    expect(sender.seal(Buffer.alloc(61_436)).map(({ payload }) => payload.length)).toEqual([61_456])
    expect(sender.seal(Buffer.alloc(61_437)).map(({ seq, payload }) => [seq, payload.length])).toEqual([
      [1, 61_456],
      [2, 17],
    ])
  })

  it('may share a record', () => {
    const { receiver, heard, key } = pair()
    const plaintext = Buffer.from('\0\0\0\x01a\0\0\0\x02bc\0\0\0\x03de')
    const cipher = new CipherState(key)
    receiver.receive(0, cipher.encrypt(plaintext))
    receiver.receive(1, cipher.encrypt(Buffer.from('f')))
    expect(heard.map(String)).toEqual(['a', 'bc', 'def'])
  })
})

describe('a stream ends when', () => {
  it('more than 64 records are missing', () => {
    const { sender, receiver } = pair()
    const records = Array.from({ length: 66 }, () => sender.seal(Buffer.from('x'))[0]!)
    for (const { seq, payload } of records.slice(1, 65)) receiver.receive(seq, payload)
    expect(() => receiver.receive(65, records[65]!.payload)).toThrow(/record 65 came while 0 is missing/)
  })
  it('a record was changed', () => {
    const { sender, receiver } = pair()
    const payload = sender.seal(Buffer.from('x'))[0]!.payload
    payload[0] = (payload[0] as number) ^ 1
    expect(() => receiver.receive(0, payload)).toThrow()
  })
  it.each([0, 64 * 1024 * 1024 + 1])('a message has %d bytes', (length) => {
    const { receiver, key } = pair()
    const head = Buffer.alloc(4)
    head.writeUInt32BE(length)
    expect(() => receiver.receive(0, new CipherState(key).encrypt(head))).toThrow(`a message of ${length} bytes`)
  })
})
