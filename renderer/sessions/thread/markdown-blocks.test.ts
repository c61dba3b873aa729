import { expect, test } from 'vitest'
import { readBlocks, readInlines } from './markdown-blocks.ts'

test('paragraphs, headings, lists, quotes and code are told apart', () => {
  const text =
    '# Plan\n\nFirst *this*,\nthen **that**.\n\n- one\n- two\n  more\n\n1. a\n2. b\n\n> quoted\n\n```ts\nconst a = 1\n\n- no list\n```\nend'
  expect(readBlocks(text).map(({ kind }) => kind)).toEqual([
    'heading',
    'paragraph',
    'list',
    'list',
    'quote',
    'code',
    'paragraph',
  ])
  expect(readBlocks(text)[5]).toEqual({ kind: 'code', language: 'ts', text: 'const a = 1\n\n- no list' })
  expect(readBlocks(text)[2]).toMatchObject({ items: [[{ text: 'one' }], [{ text: 'two\nmore' }]] })
})

test('code that is still being written is code to its end', () => {
  expect(readBlocks('```\nhalf')).toEqual([{ kind: 'code', language: '', text: 'half' }])
})

test('a picture is its words, a link shows where it leads, and only https is one', () => {
  expect(readInlines('![x](https://evil.example/p.png)')).toEqual([{ kind: 'text', text: '[picture: x]' }])
  expect(readInlines('[docs](https://example.org/a)')).toEqual([
    { kind: 'link', text: 'docs (https://example.org/a)', url: 'https://example.org/a' },
  ])
  for (const url of ['javascript:alert`1`', 'file:///etc/passwd', 'http://example.org', 'data:text/html,x'])
    expect(readInlines(`[docs](${url})`)).toEqual([{ kind: 'text', text: `[docs](${url})` }])
})

test('markup of a page stays text', () => {
  expect(readInlines('<img src=x onerror=alert(1)> & <b>')).toEqual([
    { kind: 'text', text: '<img src=x onerror=alert(1)> & <b>' },
  ])
})

test('a long message without an end of anything is read at once', () => {
  const text = '*'.repeat(50_000) + '['.repeat(50_000) + '`'.repeat(3)
  expect(readBlocks(text).length).toBeGreaterThan(0)
})
