import { expect, test } from 'vitest'
import { shortened, ThreadNews } from './thread-news.ts'

const delta = (itemId: string, text: string) => ({ itemId, delta: text })

test('pieces of one text become one, and nothing overtakes them', () => {
  const sent: [string, unknown][] = []
  const news = new ThreadNews((method, params) => sent.push([method, params]))
  news.push('item/agentMessage/delta', delta('a', 'one '))
  news.push('item/agentMessage/delta', delta('a', 'two'))
  news.push('item/agentMessage/delta', delta('b', 'other'))
  news.push('item/completed', { item: { id: 'b' } })
  expect(sent).toEqual([
    ['item/agentMessage/delta', delta('a', 'one two')],
    ['item/agentMessage/delta', delta('b', 'other')],
    ['item/completed', { item: { id: 'b' } }],
  ])
})

test('what waits leaves by itself after a moment, or never once it is closed', async () => {
  const sent: unknown[] = []
  const news = new ThreadNews((_, params) => sent.push(params))
  news.push('item/agentMessage/delta', delta('a', 'x'))
  await expect.poll(() => sent).toEqual([delta('a', 'x')])
  news.push('item/agentMessage/delta', delta('a', 'y'))
  news.close()
  news.push('thread/closed', {})
  expect(sent).toEqual([delta('a', 'x'), {}])
})

test('a flood on one text keeps its newest end, a long member says how much is not shown', () => {
  const sent: { delta?: string }[] = []
  const news = new ThreadNews((_, params) => sent.push(params))
  for (let at = 0; at < 100; at++) news.push('item/commandExecution/outputDelta', delta('c', `${at}`.padStart(4096)))
  news.push('turn/completed', {})
  expect(sent[0]?.delta).toHaveLength(64 * 1024)
  expect(sent[0]?.delta?.endsWith('99')).toBe(true)
  const { text, kept } = shortened({ text: 'a'.repeat(100_000), kept: ['b', 1, null] }) as {
    text: string
    kept: unknown
  }
  expect(text).toContain(`[… ${100_000 - 64 * 1024} characters are not shown …]`)
  expect(kept).toEqual(['b', 1, null])
})
