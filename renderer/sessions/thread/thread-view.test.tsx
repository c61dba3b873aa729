import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import type { OwnerThreadCalls, OwnerThreadMethod } from '../../../preload/api.ts'
import { sessionOfThread } from '../../../sidecars/protocol/ids.ts'
import { cleanup, renderWithHost, settle } from '../../testing/render-with-host.tsx'
import { ScriptedHost } from '../../testing/scripted-host.ts'
import { process, snapshot } from '../../testing/view-fixtures.ts'
import { ThreadView } from './thread-view.tsx'

afterEach(cleanup)

const ID = '01900000-0000-7000-8000-000000000001'
type Answers = { [M in OwnerThreadMethod]?: (params: OwnerThreadCalls[M]['params']) => unknown }
const usual: Answers = {
  'thread/resume': () => ({
    thread: { id: ID, name: 'Fix the test', preview: '', cwd: '/home/me/shop', model: 'm', modelProvider: 'p' },
    model: 'm',
    modelProvider: 'p',
    approvalPolicy: 'on-request',
    sandbox: { type: 'readOnly', networkAccess: false },
    reasoningEffort: null,
  }),
  'thread/items/list': () => ({ data: [], nextCursor: null }),
  'thread/turns/list': () => ({ data: [], nextCursor: null }),
  'thread/queue/list': () => ({ data: [], paused: false }),
  'gatehouse/thread/open': () => ({ data: [], usage: null, plan: null }),
  'thread/settings/update': () => ({}),
  'turn/settings/update': () => ({ status: 'applied' }),
  'model/list': () => ({ data: [] }),
  'review/start': () => ({}),
  'thread/queue/start': () => ({}),
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
  const { push } = await renderWithHost(host, <ThreadView threadId={ID} session={undefined} />)
  await settle()
  const hear = (method: string, params: Record<string, unknown>) =>
    act(async () => host.emit('threads.news', { method, params: { threadId: ID, turnId: 't', ...params } }))
  const sent = (method: OwnerThreadMethod) =>
    host.callsOf('threads.call').flatMap(([name, params]) => (name === method ? [params] : []))
  return { host, hear, push, sent }
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

test('an agent that was started is a row with its task, how it stands, and the way to its session', async () => {
  const { hear } = await open()
  const agent = '0190-child'
  await hear('item/completed', {
    item: {
      type: 'collabAgentToolCall',
      id: 'g',
      tool: 'wait',
      status: 'completed',
      senderThreadId: ID,
      receiverThreadIds: [agent],
      prompt: null,
      model: null,
      reasoningEffort: null,
      agentsStates: { [agent]: { status: 'completed', message: 'Found two places.' } },
    },
  })
  await hear('item/started', {
    item: {
      type: 'collabAgentToolCall',
      id: 'h',
      tool: 'sendInput',
      status: 'inProgress',
      senderThreadId: ID,
      receiverThreadIds: [],
      prompt: 'Look at <b>both</b>',
      model: null,
      reasoningEffort: null,
      agentsStates: {},
    },
  })
  expect(screen.getByText('Waited for its agent')).toBeTruthy()
  const link = screen.getByRole('link', { name: `Session of agent ${agent}` })
  expect(link.getAttribute('href')).toBe(`#/sessions/${sessionOfThread(agent)}`)
  expect(screen.getByText(': Look at <b>both</b>')).toBeTruthy()
  expect(screen.getByText('waiting')).toBeTruthy()
  const row = document.querySelector('details')!
  row.open = true
  fireEvent(row, new Event('toggle'))
  expect(await screen.findByText('Found two places.')).toBeTruthy()
  expect(screen.getByText('done')).toBeTruthy()
})

test('what is said and run is drawn as text, one row a command that opens to its output', async () => {
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

const tokens = (totalTokens: number) => ({
  totalTokens,
  inputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 1,
  reasoningOutputTokens: 0,
})
const command = (id: string, more: object = {}) => ({
  type: 'commandExecution',
  id,
  command: "/bin/bash -lc 'npm test'",
  cwd: '/w',
  source: 'agent',
  status: 'inProgress',
  aggregatedOutput: null,
  exitCode: null,
  durationMs: null,
  ...more,
})

test('a command leads to its process, also when the window opens while it runs', async () => {
  const { push } = await open({
    'gatehouse/thread/open': () => ({
      data: [{ turnId: 't', item: command('c', { aggregatedOutput: 'so far\n' }), startedAtMs: 1 }],
      usage: { total: tokens(1200), last: tokens(500), modelContextWindow: 1000 },
      plan: [{ step: 'Look', status: 'inProgress' }],
    }),
  })
  await push({
    table: 'processes',
    key: 'prc_7',
    value: process({ id: 'prc_7', sessionId: `ses_${ID}`, toolCallId: 'c' }),
  })
  const link = await screen.findByRole('link', { name: 'Live output of npm test' })
  expect([link.textContent, link.getAttribute('href')]).toEqual(['Live output', '#/processes/prc_7'])
  expect(screen.getByText(/context 50 % full/)).toBeTruthy()
  expect(screen.getByText('Plan, 0 of 1 done')).toBeTruthy()
})

test('E48 output is shown as the terminal would have left it', async () => {
  const { hear } = await open()
  const progress = Array.from({ length: 1000 }, (_, i) => `\rReceiving ${i + 1}`).join('')
  const aggregatedOutput = `${progress}\ndone\na\r\nb\r\nabcd\rabX\n\x1b[31mred\x1b[0m`
  await hear('item/completed', { item: command('c', { status: 'completed', aggregatedOutput, exitCode: 0 }) })
  const row = document.querySelector<HTMLDetailsElement>('details.folded')!
  row.open = true
  fireEvent(row, new Event('toggle'))
  const lines = [...(await screen.findByRole('group', { name: 'Output of npm test' })).querySelectorAll('.lines > div')]
  expect(lines.map((line) => line.textContent)).toEqual(['Receiving 1000', 'done', 'a', 'b', 'abXd', 'red'])
})

test('E49 long output is drawn in pieces, and whole on demand', async () => {
  const { hear } = await open()
  const aggregatedOutput = `${'x'.repeat(60_000)}\n${Array.from({ length: 900 }, (_, i) => `line ${i}`).join('\n')}`
  await hear('item/completed', { item: command('c', { status: 'completed', aggregatedOutput, exitCode: 0 }) })
  const row = document.querySelector<HTMLDetailsElement>('details.folded')!
  row.open = true
  fireEvent(row, new Event('toggle'))
  const output = await screen.findByRole('group', { name: 'Output of npm test' })
  expect(output.querySelectorAll('.lines > div')).toHaveLength(400)
  expect(Math.max(...[...output.querySelectorAll('bdi')].map((piece) => piece.textContent.length))).toBe(8000)
  fireEvent.click(screen.getByRole('button', { name: '501 more lines' }))
  expect(output.querySelectorAll('.lines > div')).toHaveLength(901)
})

test('model, effort and sandbox change while a turn runs, and only what changed is sent', async () => {
  const { hear, sent } = await open()
  await hear('turn/started', { turn: { id: 't' } })
  fireEvent.click(screen.getByRole('button', { name: /read only/ }))
  fireEvent.change(screen.getByRole('combobox', { name: 'Model' }), { target: { value: 'bigger' } })
  fireEvent.click(screen.getByRole('radio', { name: 'may write in its folder' }))
  fireEvent.click(screen.getByRole('button', { name: 'Use these' }))
  await waitFor(() => expect(sent('turn/settings/update')).toEqual([{ threadId: ID, turnId: 't', model: 'bigger' }]))
  expect(sent('thread/settings/update')).toEqual([
    {
      threadId: ID,
      model: 'bigger',
      sandboxPolicy: expect.objectContaining({ type: 'workspaceWrite', networkAccess: false }),
    },
  ])
})

test('words are looked for in the whole session, and the place is fetched when it is not held', async () => {
  const { sent } = await open({
    'thread/items/list': (params) => ({
      data:
        params.cursor === 'here'
          ? [{ turnId: 't', item: { type: 'agentMessage', id: 'far', text: 'the needle' } }]
          : [],
      nextCursor: params.cursor === 'here' ? 'newer' : null,
      backwardsCursor: 'older',
    }),
    'gatehouse/thread/find': () => ({ data: [{ itemId: 'far', cursor: 'here', snippet: '' }], isComplete: true }),
  })
  fireEvent.keyDown(window, { key: 'f', ctrlKey: true })
  const find = await screen.findByRole('searchbox', { name: 'Find in this session' })
  fireEvent.change(find, { target: { value: 'needle' } })
  fireEvent.keyDown(find, { key: 'Enter' })
  expect(await screen.findByText('the needle')).toBeTruthy()
  expect(screen.getByRole('status', { name: 'Found' }).textContent).toBe('1 of 1 place')
  expect(sent('thread/items/list').at(-1)).toMatchObject({ cursor: 'here', sortDirection: 'asc' })
  expect(screen.getByRole('button', { name: 'To the end' })).toBeTruthy()
})

test('a queue that an interruption paused can be sent on, and a review started', async () => {
  const { hear, sent } = await open()
  await hear('thread/queue/changed', { queuedSubmissions: [{ id: 'q', input: words('next') }], paused: true })
  fireEvent.click(screen.getByRole('button', { name: 'Send now' }))
  await waitFor(() => expect(sent('thread/queue/start')).toEqual([{ threadId: ID, queuedSubmissionId: 'q' }]))
  fireEvent.click(screen.getByRole('button', { name: 'Review' }))
  fireEvent.click(screen.getByRole('radio', { name: 'One commit' }))
  fireEvent.change(screen.getByRole('textbox', { name: 'Commit' }), { target: { value: 'abc123' } })
  fireEvent.click(screen.getByRole('button', { name: 'Start review' }))
  await waitFor(() =>
    expect(sent('review/start')).toEqual([{ threadId: ID, target: { type: 'commit', sha: 'abc123' } }]),
  )
})

test('a page that was asked for before the reader went elsewhere is not put there', async () => {
  let answerOlder = (_: unknown): void => {}
  const message = (id: string) => ({ turnId: 't', item: { type: 'agentMessage', id, text: `text ${id}` } })
  await open({
    'thread/items/list': ({ cursor, sortDirection }) => {
      if (cursor === 'older') return new Promise((resolve) => (answerOlder = resolve))
      if (sortDirection === 'asc') return { data: [message('first')], nextCursor: 'more', backwardsCursor: 'none' }
      return { data: [message('last')], nextCursor: 'older', backwardsCursor: 'end' }
    },
  })
  fireEvent.click(await screen.findByRole('button', { name: 'Older' }))
  fireEvent.keyDown(window, { key: 'Home', ctrlKey: true })
  expect(await screen.findByText('text first')).toBeTruthy()
  answerOlder({ data: [message('middle')], nextCursor: null, backwardsCursor: null })
  await settle()
  expect(screen.queryByText('text middle')).toBeNull()
  expect(screen.queryByRole('button', { name: 'Older' })).toBeNull()
})
