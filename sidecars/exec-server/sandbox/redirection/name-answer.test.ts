import { describe, expect, it } from 'vitest'
import { answerName } from './name-answer.ts'

const A = 1
const AAAA = 28
const ADDRESS = Buffer.from([198, 18, 0, 2])

interface Query {
  name?: string
  type?: number
  group?: number
  flags?: number
  questions?: number
  more?: Buffer
}

function query({ name = 'a.test', type = A, group = 1, flags = 0x0100, questions = 1, more }: Query = {}): Buffer {
  const words = (...values: number[]) => Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]))
  const labels = name === '' ? [] : name.split('.')
  const encoded = labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')])
  const parts = [words(0x1234, flags, questions, 0, 0, more ? 1 : 0), ...encoded, Buffer.from([0]), words(type, group)]
  return Buffer.concat([...parts, ...(more ? [more] : [])])
}

function answered(bytes: Buffer, give: Buffer | undefined = ADDRESS) {
  const asked: string[] = []
  const answer = answerName(bytes, (name) => (asked.push(name), give))
  if (!answer) return undefined
  const flags = answer.readUInt16BE(2)
  return {
    id: answer.readUInt16BE(0),
    isAnswer: flags >> 15,
    code: flags & 15,
    answers: answer.readUInt16BE(6),
    asked,
    answer,
  }
}

describe('the answer to a query', () => {
  it('for an address is the one that stands for the name', () => {
    const bytes = query({ name: 'Git.Corp.test' })
    const { answer, ...rest } = answered(bytes) as NonNullable<ReturnType<typeof answered>>
    expect(rest).toEqual({ id: 0x1234, isAnswer: 1, code: 0, answers: 1, asked: ['Git.Corp.test'] })
    // The question as it was asked, then a pointer to its name, type, class, time to live, length and the address.
    expect(answer.subarray(12, bytes.length)).toEqual(bytes.subarray(12))
    expect(answer.subarray(bytes.length).toString('hex')).toBe('c00c000100010000003c0004c6120002')
    // RD is kept, RA is set.
    expect(answer.readUInt16BE(2) & 0x0180).toBe(0x0180)
  })

  it.each([AAAA, 15, 16, 33, 65])('of type %i is that there is none', (type) => {
    expect(answered(query({ type }))).toMatchObject({ code: 0, answers: 0, asked: [] })
  })

  it('of any type is the address, of another class nothing', () => {
    expect(answered(query({ type: 255 }))).toMatchObject({ answers: 1 })
    expect(answered(query({ group: 3 }))).toMatchObject({ code: 0, answers: 0, asked: [] })
    expect(answered(query({ name: '' }))).toMatchObject({ code: 0, answers: 0, asked: [] })
  })

  it.each(['localhost', 'app.localhost', 'LOCALHOST'])('for %s is the loopback', (name) => {
    const found = answered(query({ name }))
    expect(found?.asked).toEqual([])
    expect(found?.answer.subarray(-4)).toEqual(Buffer.from([127, 0, 0, 1]))
  })

  it('says what is wrong', () => {
    expect(answerName(query(), () => undefined)?.[3]).toBe(0x80 | 2)
    expect(answered(query({ flags: 0x2800 }))).toMatchObject({ code: 4, answers: 0 })
    for (const questions of [0, 2]) expect(answered(query({ questions }))).toMatchObject({ code: 1, answers: 0 })
    for (const name of ['a b.test', 'a\0b', 'é.test'])
      expect(answered(query({ name }))).toMatchObject({ code: 3, answers: 0, asked: [] })
    const dotted = query({ name: 'axb' })
    dotted[14] = 0x2e
    expect(answered(dotted)).toMatchObject({ code: 3, asked: [] })
  })

  it('is not kept from by what stands behind the question', () => {
    expect(answered(query({ more: Buffer.from('0000291000000000000000', 'hex') }))).toMatchObject({ answers: 1 })
  })
})

it('what is cut off, points somewhere or is no query gets no address', () => {
  const whole = query()
  for (let length = 0; length < whole.length; length++)
    expect(answered(whole.subarray(0, length))?.answers ?? 0).toBe(0)
  const pointing = query()
  pointing[12] = 0xc0
  expect(answered(pointing)).toMatchObject({ code: 1 })
  expect(answered(query({ flags: 0x8180 }))).toBeUndefined()
})
