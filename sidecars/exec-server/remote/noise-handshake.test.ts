import { describe, expect, it } from 'vitest'
import { Initiator, Responder } from './noise-handshake.ts'
import { formatPublicKeys, HybridKeys, publicKeys } from './noise-keys.ts'

const scope = { environmentId: 'env', registrationId: 'reg', streamId: 'stream' }
const executor = HybridKeys.generate()
const harness = HybridKeys.generate()
const pair = (theirs = scope) => ({
  initiator: new Initiator(harness, executor.public, scope),
  responder: new Responder(executor, theirs),
})

describe('a handshake', () => {
  it('tells the responder who connects, and gives both sides the same secrets', () => {
    const { initiator, responder } = pair()
    const first = initiator.firstMessage(Buffer.from('authorization'))
    expect(first.length).toBe(3568 + 'authorization'.length)
    const { keys, payload } = responder.read(first)
    expect(String(payload)).toBe('authorization')
    expect(keys).toEqual(harness.public)
    const { message, channel } = responder.answer()
    expect(message.length).toBe(3424)
    const ours = initiator.finish(message)
    for (const text of ['one', 'two']) {
      expect(String(channel.receiving.decrypt(ours.sending.encrypt(Buffer.from(text))))).toBe(text)
      expect(String(ours.receiving.decrypt(channel.sending.encrypt(Buffer.from(text))))).toBe(text)
    }
  })

  it('is of no use for another stream, environment or registration', () => {
    for (const other of [{ streamId: 'x' }, { environmentId: 'x' }, { registrationId: 'x' }]) {
      const { initiator, responder } = pair({ ...scope, ...other })
      const first = initiator.firstMessage(Buffer.from('a'))
      expect(() => responder.read(first)).toThrow()
    }
  })

  it('fails when a byte is another, and when it is cut', () => {
    const first = pair().initiator.firstMessage(Buffer.from('authorization'))
    for (const at of [0, 1087, 1088, 1120, 2304, 2350, 3552, first.length - 1]) {
      const changed = Buffer.from(first)
      changed[at] = (changed[at] as number) ^ 1
      expect(() => new Responder(executor, scope).read(changed), `byte ${at}`).toThrow()
    }
    expect(() => new Responder(executor, scope).read(first.subarray(0, 3000))).toThrow(/too short/)
    const { initiator, responder } = pair()
    responder.read(initiator.firstMessage(Buffer.alloc(0)))
    const { message } = responder.answer()
    message[2000] = (message[2000] as number) ^ 1
    expect(() => initiator.finish(message)).toThrow()
  })

  it('is a refusal when the answer carries words', () => {
    const { initiator, responder } = pair()
    responder.read(initiator.firstMessage(Buffer.from('a')))
    expect(() => initiator.finish(responder.answer(Buffer.from('go away')).message)).toThrow(
      'the executor refused: go away',
    )
  })
})

it('keys survive the registry, and others are refused by name', () => {
  const text = formatPublicKeys(executor.public)
  expect(publicKeys(text, 'k')).toEqual(executor.public)
  expect(() => publicKeys({ ...text, suite: 'other' }, 'k')).toThrow(/k\.suite/)
  expect(() => publicKeys({ ...text, x25519_public_key: 'AAAA' }, 'k')).toThrow(
    'k.x25519_public_key: expected 32 bytes',
  )
  expect(() => publicKeys({ ...text, more: 1 }, 'k')).toThrow(/members/)
})
