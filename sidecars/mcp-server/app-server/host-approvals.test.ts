import { expect, test } from 'vitest'
import type { Decision } from '../../protocol/decision.ts'
import type { AskOptions, ClientRequests } from '../../protocol/app-server/server-requests.ts'
import type { OwnerQuestion } from '../sessions/host-link.ts'
import { HostApprovals } from './host-approvals.ts'

interface Side<A> {
  signal: AbortSignal
  resolve(answer: A): void
  reject(error: Error): void
}
const subject = {
  kind: 'command' as const,
  argv: ['make'],
  cwd: '/w',
  envChanges: {},
  tty: false,
  stdin: 'none' as const,
  sandbox: 'none' as const,
}
const decision = (verdict: 'allow' | 'deny', more: Partial<Decision> = {}): Decision => ({
  verdict,
  scope: 'once',
  actor: { kind: 'person', via: 'window' },
  subjectHash: '',
  decidedAtMs: 0,
  ...more,
})

/** Both sides of one question about a command, in the test's hands. */
function askBoth(signal = new AbortController().signal, more: { reason?: string; refused?: string } = {}) {
  const sides: { clients?: Side<unknown>; owner?: Side<Decision> & { question: OwnerQuestion } } = {}
  const clients: ClientRequests = {
    ask: (_method, _params, options: AskOptions) =>
      new Promise((resolve, reject) => {
        sides.clients = { signal: options.signal, resolve: resolve as (answer: unknown) => void, reject }
      }),
  }
  const approvals = new HostApprovals(clients, {
    ask: (question, ownerSignal) =>
      new Promise((resolve, reject) => (sides.owner = { question, signal: ownerSignal, resolve, reject })),
  })
  const answer = approvals.ask(
    'item/commandExecution/requestApproval',
    {
      kind: 'command',
      threadId: 't',
      turnId: 'u',
      itemId: 'i',
      startedAtMs: 0,
      environmentId: 'local',
      reason: more.reason ?? null,
      availableDecisions: ['accept', 'cancel'],
    },
    { threadId: 't', signal, subject, ...(more.refused !== undefined && { refused: more.refused }) },
  )
  return { answer, clients: sides.clients!, owner: sides.owner! }
}

test('the owner is shown the subject itself, in the session of the thread', () => {
  const { owner, answer } = askBoth()
  expect(owner.question).toMatchObject({ sessionId: 'ses_t', toolCallId: 'i', subject })
  owner.resolve(decision('allow'))
  return expect(answer).resolves.toEqual({ decision: 'accept' })
})

test('the words of the model go with it, or else the words of a command that its sandbox refused', () => {
  expect(askBoth(undefined, { reason: 'to build' }).owner.question).toMatchObject({ reason: 'to build' })
  const { question } = askBoth(undefined, { reason: 'again?', refused: 'Read-only file system' }).owner
  expect([question.reason, question.refused]).toEqual([undefined, 'Read-only file system'])
})

test.each([
  [decision('allow', { scope: 'session' }), { decision: 'acceptForSession' }],
  [decision('allow', { scope: 'always' }), { decision: 'accept' }],
  [decision('deny'), { decision: 'decline' }],
  [decision('deny', { reason: 'not on main' }), { decision: 'decline', words: 'not on main' }],
])('the verdict %j is the answer %j, and the clients are no longer asked', async (verdict, expected) => {
  const { owner, clients, answer } = askBoth()
  owner.resolve(verdict)
  expect(await answer).toEqual(expected)
  expect(clients.signal.aborted).toBe(true)
})

test('questions and forms are put before the owner, and what was filled in is the answer', async () => {
  const asked: OwnerQuestion[] = []
  const approvals = new HostApprovals(
    { ask: () => new Promise(() => {}) },
    {
      ask: (question) => {
        asked.push(question)
        return Promise.resolve({ ...decision('allow'), content: { q: 'blue' } })
      },
    },
  )
  const options = { threadId: 't', signal: new AbortController().signal }
  const questions = [{ id: 'q', header: '', question: 'Colour?', isOther: true, isSecret: false, options: null }]
  const item = { threadId: 't', turnId: 'u', itemId: 'i' }
  expect(
    await approvals.ask(
      'item/tool/requestUserInput',
      { ...item, questions, isBlocking: true, autoResolutionMs: null },
      options,
    ),
  ).toEqual({ answers: { q: { answers: ['blue'] } } })
  const schema = { type: 'object', properties: { q: { type: 'string' } } }
  const form = {
    threadId: 't',
    turnId: 'u',
    serverName: 's',
    environmentId: null,
    mode: 'form',
    message: 'm',
    _meta: null,
  }
  expect(await approvals.ask('mcpServer/elicitation/request', { ...form, requestedSchema: schema }, options)).toEqual({
    action: 'accept',
    content: { q: 'blue' },
    _meta: null,
  })
  expect(asked.map(({ subject: shown }) => shown)).toEqual([
    { kind: 'question', questions },
    { kind: 'elicitation', serverName: 's', message: 'm', schema },
  ])
})

test('a client that answers first withdraws the question from the owner', async () => {
  const { owner, clients, answer } = askBoth()
  clients.resolve({ decision: 'cancel' })
  expect(await answer).toEqual({ decision: 'cancel' })
  expect(owner.signal.aborted).toBe(true)
})

test('a lost host is no answer: a client can still give one', async () => {
  const { owner, clients, answer } = askBoth()
  owner.reject(new Error('the channel closed'))
  clients.resolve({ decision: 'decline' })
  expect(await answer).toEqual({ decision: 'decline' })
})

test('errors on every side are a failure, never a yes', async () => {
  const { owner, clients, answer } = askBoth()
  owner.reject(new Error('the channel closed'))
  clients.reject(new Error('the client answered with an error'))
  await expect(answer).rejects.toThrow('the client answered with an error')
})

test('an interrupted turn withdraws the question everywhere', async () => {
  const turn = new AbortController()
  const { owner, clients, answer } = askBoth(turn.signal)
  turn.abort(new Error('interrupted'))
  expect([owner.signal.aborted, clients.signal.aborted]).toEqual([true, true])
  owner.reject(new Error('withdrawn'))
  clients.reject(new Error('withdrawn'))
  await expect(answer).rejects.toThrow('interrupted')
})
