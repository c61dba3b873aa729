import { expect, it } from 'vitest'
import type { WriteStatus } from '../../protocol/exec-process.ts'
import { WriteQueue } from './write-queue.ts'

interface Sent {
  text: string
  size: number
  writeId: string
  closes: boolean
}

function queueThat(answer: (sent: Sent) => Promise<WriteStatus> = async () => 'accepted') {
  const sent: Sent[] = []
  const queue = new WriteQueue((chunk, writeId, closes) => {
    const one = { text: Buffer.from(chunk.subarray(0, 20)).toString(), size: chunk.length, writeId, closes }
    sent.push(one)
    return answer(one)
  })
  return { sent, queue }
}

it('keeps the order of the calls and gives every chunk an id of its own', async () => {
  const { sent, queue } = queueThat()
  await Promise.all(['a', 'b', 'c'].map((text) => queue.write(Buffer.from(text))))
  expect(sent.map((s) => s.text).join('')).toBe('abc')
  expect(new Set(sent.map((s) => s.writeId)).size).toBe(sent.length)
})

it('small writes that wait for an answer travel together', async () => {
  let letGo = () => {}
  const first = new Promise<void>((resolve) => (letGo = resolve))
  const { sent, queue } = queueThat(async () => {
    await first
    return 'accepted'
  })
  const writes = ['1', '2', '3', '4'].map((text) => queue.write(Buffer.from(text)))
  letGo()
  await Promise.all(writes)
  expect(sent.map((s) => s.text)).toEqual(['1', '234'])
})

it('a large write goes in pieces, and the end of input rides on the last', async () => {
  const { sent, queue } = queueThat()
  await queue.write(Buffer.alloc(1_200_000, 'x'), true)
  expect(sent.map((s) => [s.size, s.closes])).toEqual([
    [524_288, false],
    [524_288, false],
    [151_424, true],
  ])
})

it('an empty write is still a write: it can end the input', async () => {
  const { sent, queue } = queueThat()
  await queue.write(new Uint8Array(0), true)
  expect(sent).toMatchObject([{ size: 0, closes: true }])
})

it('stops at the first refusal and goes on with the next call', async () => {
  const { sent, queue } = queueThat(async ({ size }) => (size === 524_288 ? 'stdinClosed' : 'accepted'))
  expect(await queue.write(Buffer.alloc(1_200_000))).toBe('stdinClosed')
  expect(sent).toHaveLength(1)
  expect(await queue.write(Buffer.from('x'))).toBe('accepted')
})

it('is not fooled by a caller that uses its buffer again', async () => {
  const { sent, queue } = queueThat()
  const buffer = Buffer.from('first')
  const written = queue.write(buffer)
  buffer.write('LATER')
  await written
  expect(sent[0]?.text).toBe('first')
})
