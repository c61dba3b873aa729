import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ThreadStore } from './thread-store.ts'

const ID = '01a22e1f-0000-7000-8000-000000000001'
let home: string
let store: ThreadStore
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gh-search-'))
  store = new ThreadStore({ home })
})
afterEach(async () => {
  await store.close()
  rmSync(home, { recursive: true, force: true })
})

const message = (id: string, text: string) => ({ type: 'agentMessage', id, text, phase: null, memoryCitation: null })

test('words are found in what can be seen, oldest first, each with the page that begins there', async () => {
  const meta = { id: ID, session_id: ID, cwd: '/w', source: 'vscode', model_provider: 'p', history_mode: 'paginated' }
  const log = store.create(meta)
  const say = (turn: string, items: object[]) => {
    log.append('event_msg', { type: 'task_started', turn_id: turn })
    for (const item of items) log.append('event_msg', { type: 'item_completed', turn_id: turn, item })
    log.append('response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Needle' }] })
    log.append('event_msg', { type: 'task_complete', turn_id: turn })
  }
  say('a', [message('one', 'hay, a "NEEDLE"\nand hay'), message('two', 'hay')])
  say('b', [
    {
      type: 'commandExecution',
      id: 'three',
      command: 'ls',
      cwd: '/w',
      aggregatedOutput: 'the needle',
      status: 'completed',
    },
    message('four', 'hay'),
  ])
  say('gone', [message('five', 'needle')])
  log.append('event_msg', { type: 'thread_reverted', before_turn_id: 'gone' })
  await log.flush(true)

  const { data, isComplete } = await store.pages.search(log.thread, 'needle')
  expect([data.map(({ itemId }) => itemId), isComplete]).toEqual([['one', 'three'], true])
  expect(data[0]!.snippet).toBe('hay, a "NEEDLE" and hay')
  expect((await store.pages.search(log.thread, '"needle"')).data).toHaveLength(1)
  const page = await store.pages.items(log.thread, { cursor: data[1]!.cursor, limit: 10, descending: false })
  expect(page.data.map(({ item }) => item.id)).toEqual(['three', 'four'])
  const older = await store.pages.items(log.thread, { cursor: page.backwardsCursor, limit: 10, descending: true })
  expect(older.data.map(({ item }) => item.id)).toEqual(['two', 'one'])
})
