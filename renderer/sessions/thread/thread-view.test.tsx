import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import type { OwnerThreadCalls, OwnerThreadMethod } from '../../../preload/api.ts'
import { cleanup, renderWithHost, settle } from '../../testing/render-with-host.tsx'
import { ScriptedHost } from '../../testing/scripted-host.ts'
import { snapshot } from '../../testing/view-fixtures.ts'
import { ThreadView } from './thread-view.tsx'

afterEach(cleanup)

const ID = '01900000-0000-7000-8000-000000000001'
type Answers = { [M in OwnerThreadMethod]?: (params: OwnerThreadCalls[M]['params']) => unknown }
const usual: Answers = {
  'thread/resume': () => ({
    thread: { id: ID, name: 'Fix the test', preview: '', cwd: '/home/me/shop', model: 'm', modelProvider: 'p' },
  }),
  'thread/items/list': () => ({ data: [], nextCursor: null }),
  'thread/turns/list': () => ({ data: [], nextCursor: null }),
  'thread/queue/list': () => ({ data: [], paused: false }),
  'turn/start': () => ({ turn: {} }),
  'turn/steer': () => ({}),
  'thread/queue/add': () => ({}),
  'thread/shellCommand': () => ({}),
}

async function open(more: Answers = {}) {
  const answers: Answers = { ...usual, ...more }
  const host = new ScriptedHost(snapshot(), {
    'threads.call': async (method, params) => {
      const answer = answers[method]
      return answer
        ? { ok: true, value: await answer(params as never) }
        : { ok: false, code: 'methodNotFound', message: `no ${method}` }
    },
  })
  await renderWithHost(host, <ThreadView threadId={ID} session={undefined} />)
  await settle()
  const hear = (method: string, params: Record<string, unknown>) =>
    act(async () => host.emit('threads.news', { method, params: { threadId: ID, turnId: 't', ...params } }))
  const sent = (method: OwnerThreadMethod) =>
    host.callsOf('threads.call').flatMap(([name, params]) => (name === method ? [params] : []))
  return { host, hear, sent }
}
const field = () => screen.getByRole('textbox', { name: 'Message' })
const type = (text: string) => fireEvent.change(field(), { target: { value: text } })
const words = (text: string) => [{ type: 'text', text }]

test('Enter sends while nothing runs, steers while a turn does, and the line above says which', async () => {
  const { hear, sent } = await open()
  expect(screen.getByRole('status', { name: 'What Enter does' }).textContent).toMatch(/Enter starts a turn/)
  type('go')
  fireEvent.keyDown(field(), { key: 'Enter' })
  await waitFor(() => expect(sent('turn/start')).toEqual([{ threadId: ID, input: words('go') }]))
  await waitFor(() => expect((field() as HTMLTextAreaElement).value).toBe(''))
  await hear('turn/started', { turn: { id: 't' } })
  expect(screen.getByRole('status', { name: 'What Enter does' }).textContent).toMatch(/adds your words/)
  type('also this')
  fireEvent.keyDown(field(), { key: 'Enter' })
  await waitFor(() =>
    expect(sent('turn/steer')).toEqual([{ threadId: ID, input: words('also this'), expectedTurnId: 't' }]),
  )
  await waitFor(() => expect(screen.getByText(/the turn reads it before its next step/)).toBeTruthy())
})

test('Ctrl+Enter queues, an exclamation mark runs a shell command, Shift+Enter is a new line', async () => {
  const { hear, sent } = await open()
  await hear('turn/started', { turn: { id: 't' } })
  type('later')
  fireEvent.keyDown(field(), { key: 'Enter', ctrlKey: true })
  await waitFor(() => expect(sent('thread/queue/add')).toEqual([{ threadId: ID, input: words('later') }]))
  type('! git status')
  fireEvent.keyDown(field(), { key: 'Enter', shiftKey: true })
  fireEvent.keyDown(field(), { key: 'Enter' })
  await waitFor(() => expect(sent('thread/shellCommand')).toEqual([{ threadId: ID, command: 'git status' }]))
})

test('words that are not taken stay in the field, with the reason', async () => {
  const { host } = await open()
  host.script['threads.call'] = () => ({ ok: false, code: 'unavailable', message: 'the MCP server is restarting' })
  type('precious')
  fireEvent.keyDown(field(), { key: 'Enter' })
  expect(await screen.findByText('the MCP server is restarting')).toBeTruthy()
  expect((field() as HTMLTextAreaElement).value).toBe('precious')
})

test('E48 what is said and run is drawn as text, one row a command that opens to its output', async () => {
  const { hear } = await open()
  await hear('item/completed', {
    item: {
      type: 'agentMessage',
      id: 'a',
      text: 'See <img src=x> and ![p](https://x.example/p.png)\u202e',
      phase: null,
    },
  })
  await hear('item/completed', {
    item: {
      type: 'commandExecution',
      id: 'c',
      command: "/bin/bash -lc 'npm test'",
      cwd: '/w',
      source: 'agent',
      status: 'failed',
      aggregatedOutput: 'one failed',
      exitCode: 1,
      durationMs: 1200,
    },
  })
  expect(screen.getByRole('log').textContent).toContain('<img src=x>')
  expect(document.querySelector('.markdown img, .markdown script')).toBeNull()
  expect(screen.getByText('[picture: p]', { exact: false })).toBeTruthy()
  expect(screen.getByText('npm test')).toBeTruthy()
  expect(screen.getByText('exit 1')).toBeTruthy()
  expect(screen.queryByText('one failed')).toBeNull()
  const row = document.querySelector('details')!
  row.open = true
  fireEvent(row, new Event('toggle'))
  expect(await screen.findByText('one failed')).toBeTruthy()
})

test('a session that cannot be read says why', async () => {
  const { host } = await open()
  cleanup()
  host.script['threads.call'] = () => ({ ok: false, code: 'invalidParams', message: 'line 1 is not JSON' })
  await renderWithHost(host, <ThreadView threadId={ID} session={undefined} />)
  await settle()
  expect(await screen.findByText(/cannot be read. line 1 is not JSON/)).toBeTruthy()
})

test('a turn that ends while the pages are read is not shown as running', async () => {
  let answerQueue = (_: unknown): void => {}
  const { hear } = await open({
    'thread/turns/list': () => ({ data: [{ id: 't', status: 'inProgress' }], nextCursor: null }),
    'thread/queue/list': () => new Promise((resolve) => (answerQueue = resolve)),
  })
  await hear('turn/completed', { turn: { id: 't', status: 'completed', error: null } })
  answerQueue({ data: [], paused: false })
  await settle()
  expect(screen.getByRole('status', { name: 'What Enter does' }).textContent).toMatch(/Nothing is running/)
})
