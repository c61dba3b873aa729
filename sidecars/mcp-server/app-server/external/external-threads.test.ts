import { expect, test, vi } from 'vitest'
import type { Decision } from '../../../protocol/decision.ts'
import { memoryPair } from '../../../rpc/memory-transport.ts'
import type { Transport } from '../../../rpc/transport.ts'
import type { OwnerQuestion } from '../../sessions/host-link.ts'
import { ExternalThreads } from './external-threads.ts'

const ID = '01900000-0000-7000-8000-000000000001'
const thread = { id: ID, name: 'fix it', preview: '', cwd: '/w', turns: [], status: { type: 'idle' } }
const until = <T>(look: () => T) => vi.waitUntil(look, { timeout: 20_000, interval: 5 })

/** A server in the test's hands, and an owner whose answers wait for the test. */
function connect(answers: Record<string, (params: never) => unknown> = {}) {
  const said: { id?: number; method?: string; result?: unknown; error?: { message: string } }[] = []
  const news: { method: string; params: Record<string, unknown> }[] = []
  const questions: (OwnerQuestion & { signal: AbortSignal; decide(decision: Partial<Decision>): void })[] = []
  const told: string[] = []
  let far!: Transport
  let isReachable = true
  const threads = new ExternalThreads({
    server: { url: 'ws://127.0.0.1:1' },
    host: {
      opened: ({ id, via }) => void told.push(`opened ${id} ${via}`),
      updated: () => {},
      closed: (id, reason) => void told.push(`closed ${id}: ${reason}`),
      ask: (question, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
          const decide = (decision: Partial<Decision>) =>
            resolve({
              verdict: 'allow',
              scope: 'once',
              actor: { kind: 'person', via: 'window' },
              subjectHash: '',
              decidedAtMs: 0,
              ...decision,
            })
          questions.push({ ...question, signal, decide })
        }),
    },
    send: (method, params) => void news.push({ method, params }),
    log: () => {},
    connect: () => {
      if (!isReachable) return Promise.reject(new Error('url: ws://127.0.0.1:1 cannot be reached: refused'))
      const [near, other] = memoryPair('external')
      far = other
      far.start({
        onMessage: (text) => {
          const message = JSON.parse(text) as { id?: number; method?: string; params?: never }
          said.push(message)
          if (message.id === undefined || message.method === undefined) return
          const usual: typeof answers = {
            initialize: () => ({ userAgent: 'codex_cli_rs/0.171.0 (Linux)' }),
            'thread/resume': () => ({ thread }),
          }
          const answer = answers[message.method] ?? usual[message.method]
          try {
            if (!answer) throw new Error(`no ${message.method}`)
            far.send(JSON.stringify({ id: message.id, result: answer(message.params as never) }))
          } catch (error) {
            const refusal = { code: -32600, message: (error as Error).message }
            far.send(JSON.stringify({ id: message.id, error: refusal }))
          }
        },
        onProblem: () => {},
        onClose: () => {},
      })
      return Promise.resolve(near)
    },
  })
  const push = (message: object) => far.send(JSON.stringify(message))
  const ask = (id: number, method: string, params: object) =>
    push({ id, method, params: { threadId: ID, turnId: 'u', itemId: 'i', ...params } })
  const answerTo = (id: number) => until(() => said.find((message) => message.id === id && !message.method))
  return {
    threads,
    said,
    news,
    questions,
    told,
    push,
    ask,
    answerTo,
    cut: () => {
      isReachable = false
      far.close('gone')
    },
  }
}
const ready = ({ threads }: ReturnType<typeof connect>) => until(() => threads.view().state === 'ready')

test('it names the server, lists its sessions and shows one that is opened', async () => {
  const server = connect({ 'thread/list': () => ({ data: [thread], nextCursor: null }) })
  // Not connected yet: the call waits for it.
  expect(await server.threads.call('thread/list', {})).toMatchObject({ data: [{ id: ID }] })
  expect(server.threads.view()).toMatchObject({ kind: 'external', name: 'Codex app server 0.171.0', life: 1 })
  await server.threads.call('thread/resume', { threadId: ID })
  expect(server.told).toEqual([`opened ses_${ID} external-app-server`])
  await expect(server.threads.call('thread/archive', {})).rejects.toThrow('no thread/archive')
  server.threads.close()
})

test('what it asks is put before the owner exactly, and the answer is in the words of the protocol', async () => {
  const server = connect()
  await ready(server)
  await server.threads.call('thread/resume', { threadId: ID })
  server.ask(7, 'item/commandExecution/requestApproval', {
    command: `/bin/bash -lc 'rm -rf x'`,
    cwd: '/w',
    reason: 'tidy',
  })
  await until(() => server.questions.length === 1)
  expect(server.questions[0]).toMatchObject({
    sessionId: `ses_${ID}`,
    reason: 'tidy',
    subject: { kind: 'command', argv: ['/bin/bash', '-lc', 'rm -rf x'], cwd: '/w', sandbox: 'none' },
  })
  server.questions[0]!.decide({ verdict: 'deny', reason: 'no' })
  expect((await server.answerTo(7))?.result).toEqual({ decision: 'decline' })

  const changes = [{ path: '/etc/hosts', kind: { type: 'update', move_path: null }, diff: '+x' }]
  server.push({
    method: 'item/started',
    params: {
      threadId: ID,
      turnId: 'u',
      startedAtMs: 1,
      item: { type: 'fileChange', id: 'i', changes, status: 'inProgress' },
    },
  })
  server.ask(8, 'item/fileChange/requestApproval', { reason: null, grantRoot: null })
  await until(() => server.questions.length === 2)
  expect(server.questions[1]?.subject).toEqual({
    kind: 'fileChange',
    changes: [{ path: '/etc/hosts', kind: 'update', diff: '+x', outsideRoots: true }],
  })
  server.questions[1]!.decide({ scope: 'session' })
  expect((await server.answerTo(8))?.result).toEqual({ decision: 'acceptForSession' })
  // Changes that were never announced are not guessed at.
  server.ask(9, 'item/fileChange/requestApproval', { itemId: 'other', reason: 'r', grantRoot: null })
  await until(() => server.questions.length === 3)
  expect(server.questions[2]?.subject).toMatchObject({ kind: 'toolUse', toolName: 'apply_patch' })
  server.threads.close()
})

test('what another client answered is withdrawn here, and what is no question for the owner is refused', async () => {
  const server = connect()
  await ready(server)
  server.ask(3, 'item/commandExecution/requestApproval', { command: 'ls' })
  await until(() => server.questions.length === 1)
  server.push({ method: 'serverRequest/resolved', params: { threadId: ID, requestId: 3 } })
  await until(() => server.questions[0]!.signal.aborted)
  server.ask(4, 'item/tool/call', { tool: 'x' })
  expect((await server.answerTo(4))?.error?.message).toContain('not answered by this client')
  server.threads.close()
})

test('a lost link withdraws what waits and answers nothing; calls say what is wrong', async () => {
  const server = connect()
  await ready(server)
  await server.threads.call('thread/resume', { threadId: ID })
  server.ask(5, 'item/commandExecution/requestApproval', { command: 'rm x' })
  await until(() => server.questions.length === 1)
  server.cut()
  await until(() => server.threads.view().state === 'down')
  expect(server.questions[0]!.signal.aborted).toBe(true)
  server.questions[0]!.decide({ verdict: 'allow' })
  await expect(server.threads.call('thread/list', {})).rejects.toMatchObject({ code: 'unavailable' })
  expect(server.said.filter((message) => message.id === 5)).toEqual([])
  expect(server.told.at(-1)).toContain('the link to the app server was lost')
  expect(server.news.at(-1)).toMatchObject({
    method: 'gatehouse/server/changed',
    params: { server: { state: 'down' } },
  })
  server.threads.close()
})

test('a server without pages of items is read by its turns, and its sessions can be searched', async () => {
  const items = ['one', 'needle', 'three'].map((text) => ({ type: 'agentMessage', id: text, text }))
  const server = connect({
    'thread/read': () => ({ thread: { ...thread, turns: [{ id: 't', items }] } }),
    'thread/items/list': () => {
      throw new Error('thread/items/list is not supported for legacy threads')
    },
  })
  await ready(server)
  const page = { threadId: ID, limit: 2, sortDirection: 'desc' }
  const ids = (read: unknown) => (read as { data: { item: { id: string } }[] }).data.map(({ item }) => item.id)
  const newest = (await server.threads.call('thread/items/list', page)) as { nextCursor: string }
  expect(ids(newest)).toEqual(['three', 'needle'])
  expect(ids(await server.threads.call('thread/items/list', { ...page, cursor: newest.nextCursor }))).toEqual(['one'])
  expect(await server.threads.call('gatehouse/thread/find', { threadId: ID, term: 'NEEDLE' })).toEqual({
    data: [{ itemId: 'needle', cursor: '', snippet: 'needle' }],
    isComplete: true,
  })
  server.threads.close()
})
