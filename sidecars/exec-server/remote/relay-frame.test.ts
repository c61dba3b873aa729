import fc from '../../testing/fast-check.ts'
import { expect, it } from 'vitest'
import { formatRelayFrame, MalformedFrame, parseRelayFrame, type RelayBody } from './relay-frame.ts'

const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((array) => Buffer.from(array))
const body: fc.Arbitrary<RelayBody> = fc.oneof(
  fc.record({ kind: fc.constant('data' as const), seq: fc.nat(0xffff_ffff), payload: bytes }),
  fc.record({ kind: fc.constant('handshake' as const), payload: bytes }),
  fc.record({ kind: fc.constant('reset' as const), reason: fc.string({ minLength: 1 }) }),
  fc.constant({ kind: 'resume' as const }),
)

it('frames come back as they were', () => {
  fc.assert(
    fc.property(fc.uuid(), body, (streamId, given) => {
      expect(parseRelayFrame(formatRelayFrame({ streamId, body: given }))).toEqual({ streamId, body: given })
    }),
  )
})

it('stand on the wire as protobuf has them: zeros are left out', () => {
  const hex = (given: RelayBody) => formatRelayFrame({ streamId: 's', body: given }).toString('hex')
  expect(hex({ kind: 'data', seq: 0, payload: Buffer.from('x') })).toBe('08011201732a051801220178')
  expect(hex({ kind: 'data', seq: 300, payload: Buffer.from('x') })).toBe('08011201732a0808ac021801220178')
  expect(hex({ kind: 'resume' })).toBe('08011201733a00')
  expect(hex({ kind: 'reset', reason: 'r' })).toBe('080112017342030a0172')
  expect(hex({ kind: 'handshake', payload: Buffer.from('h') })).toBe('080112017352030a0168')
})

const unspaced = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')

it('members that mean nothing here are passed over', () => {
  const frame = unspaced('0801120173 1805 2007 5a0474726163 3a00 790000000000000000')
  expect(parseRelayFrame(frame)).toEqual({ streamId: 's', body: { kind: 'resume' } })
  expect(parseRelayFrame(unspaced('0801120173 4a00')).body).toEqual({ kind: 'other' })
})

it.each([
  ['another version', '08021201733a00'],
  ['no stream', '08013a00'],
  ['a blank stream', '08011201203a00'],
  ['no body', '0801120173'],
  ['data in segments', '08011201732a0710011801220178'],
  ['data without payload', '08011201732a021801'],
  ['a reset without a reason', '08011201734200'],
  ['a handshake without a payload', '08011201735200'],
  ['a stream that is not UTF-8', '08011201ff3a00'],
  ['a member that is too long', '0801120573'],
  ['a number without end', '08ffffffffffffffffffff01'],
  ['a group', '08011201733b'],
])('%s is refused', (_, hex) => {
  expect(() => parseRelayFrame(Buffer.from(hex, 'hex'))).toThrow(MalformedFrame)
})

it('whatever bytes come, they are a frame or malformed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (array) => {
      try {
        parseRelayFrame(Buffer.from(array))
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedFrame)
      }
    }),
    { numRuns: 2_000 },
  )
})
