import { expect, it } from 'vitest'
import { NameBook } from './name-book.ts'

const text = (address: Buffer | undefined) => address?.join('.')

it('gives each name one address, whatever its case, and finds the name again', () => {
  const book = new NameBook()
  expect(text(book.addressOf('a.test'))).toBe('198.18.0.2')
  expect(text(book.addressOf('b.test'))).toBe('198.18.0.3')
  expect(text(book.addressOf('A.Test'))).toBe('198.18.0.2')
  expect(book.nameOf(Buffer.from([198, 18, 0, 3]))).toBe('b.test')
})

it('knows no name for an address that it has not given', () => {
  const book = new NameBook()
  book.addressOf('a.test')
  for (const address of [[198, 18, 0, 1], [198, 18, 0, 3], [0, 0, 0, 0], [255, 255, 255, 255], Array(16).fill(0)])
    expect(book.nameOf(Buffer.from(address))).toBeUndefined()
})

it('never gives an address twice: when all are taken there is none', () => {
  const small = new NameBook(2)
  small.addressOf('a.test')
  small.addressOf('b.test')
  expect(small.addressOf('c.test')).toBeUndefined()
  expect(text(small.addressOf('b.test'))).toBe('198.18.0.3')
})

it('holds what the range has, without its last address', () => {
  const book = new NameBook()
  let last: Buffer | undefined
  for (let i = 0; ; i++) {
    const address = book.addressOf(`${i}.test`)
    if (!address) break
    last = address
  }
  expect(text(last)).toBe('198.19.255.254')
  expect(book.nameOf(last as Buffer)).toBe('131068.test')
})
