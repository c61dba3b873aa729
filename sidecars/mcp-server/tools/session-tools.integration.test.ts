import { mkdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, expect, test } from 'vitest'
import { AGENT_TOKEN, HostedSessions } from '../../testing/hosted-sessions.ts'
import { connectLines, ERAS, textOf } from '../../testing/mcp-line-client.ts'
import { formatAttach } from '../client/attach-line.ts'

let hosted: HostedSessions
afterEach(() => hosted.stop())

async function attach(era: (typeof ERAS)[number] = 'legacy'): Promise<{ client: Client; socket: Socket }> {
  const socket = connect(join(hosted.folder, 'mcp.sock'))
  socket.write(formatAttach({ token: AGENT_TOKEN, cwd: hosted.work, pid: process.pid }))
  return { client: await connectLines(socket, socket, era), socket }
}
/** The owner lets sessions start; everything else is for the test to answer. */
const letStart = () =>
  (hosted.host.policy = (question) =>
    (question.subject.kind === 'toolUse' || question.gate === 'observe') && question.allow())
const commandQuestions = () => hosted.asked().filter(({ subject }) => subject.kind === 'command')
const call = (client: Client, name: string, args: Record<string, unknown>, signal?: AbortSignal) =>
  client.callTool({ name, arguments: args }, { signal, timeout: 20_000 })
const removal = { call: 'exec_command', args: { cmd: 'rm -rf kept' } }

test.each(ERAS)('a session starts when the owner allows it, and a reply goes on with it (%s)', async (era) => {
  hosted = await HostedSessions.start({ hello: [[{ say: 'Hello.' }]], more: [[{ say: 'More.' }]] })
  const { client } = await attach(era)
  const started = call(client, 'session_start', { prompt: '[[hello]] there', sandbox: 'read-only' })
  await expect.poll(() => hosted.asked().length).toBe(1)
  const [question] = hosted.asked()
  expect(question?.subject).toMatchObject({
    kind: 'toolUse',
    toolName: 'session_start',
    input: { prompt: '[[hello]] there', cwd: hosted.work, sandbox: 'read-only' },
  })
  expect(hosted.model.requests).toHaveLength(0)
  question?.allow()
  const result = await started
  expect(result).toMatchObject({ structuredContent: { content: 'Hello.', threadId: expect.any(String) } })
  const { threadId } = result.structuredContent as { threadId: string }
  const reply = await call(client, 'session_reply', { thread_id: threadId, prompt: '[[more]]' })
  expect(reply.structuredContent).toEqual({ threadId, content: 'More.' })
  expect(JSON.stringify(hosted.model.requests[1]?.body.input)).toContain('Hello.')
  await client.close()
})

test('the names and spellings of the Codex server work, with either name of the id', async () => {
  hosted = await HostedSessions.start({ hello: [[{ say: 'Hello.' }]] })
  letStart()
  const { client } = await attach()
  const words = {
    prompt: '[[hello]]',
    sandbox: 'workspace-write',
    'approval-policy': 'never',
    'base-instructions': 'Be brief.',
  }
  const result = await call(client, 'codex', words)
  const { threadId } = result.structuredContent as { threadId: string }
  expect(JSON.stringify(hosted.model.requests[0]?.body)).toContain('Be brief.')
  for (const id of [{ threadId }, { conversationId: threadId }])
    expect(textOf(await call(client, 'codex-reply', { prompt: '[[hello]] again', ...id }))).toBe('Hello.')
  await client.close()
})

test('the Codex names tell what happens as codex/event, each with its call and its turn', async () => {
  hosted = await HostedSessions.start({
    work: [
      [{ custom: 'apply_patch', input: '*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch' }],
      [{ say: 'Patched.' }],
    ],
  })
  letStart()
  const { client } = await attach()
  const events: { _meta: { threadId: string }; id: string; msg: Record<string, unknown> }[] = []
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'codex/event') events.push(params as never)
  }
  const words = { prompt: '[[work]]', sandbox: 'workspace-write', 'approval-policy': 'never' }
  const { threadId } = (await call(client, 'codex', words)).structuredContent as { threadId: string }
  const types = events.map(({ msg }) => msg.type).filter((type) => !String(type).startsWith('item_'))
  expect(types.filter((type, i) => type !== types[i - 1])).toEqual([
    'session_configured',
    'task_started',
    'user_message',
    'patch_apply_begin',
    'patch_apply_end',
    'turn_diff',
    'token_count',
    'agent_message_content_delta',
    'agent_message',
    'token_count',
    'turn_diff',
    'task_complete',
  ])
  expect(events.at(-1)!.msg).toMatchObject({ type: 'task_complete', last_agent_message: 'Patched.' })
  expect(new Set(events.map(({ _meta: meta }) => meta.threadId))).toEqual(new Set([threadId]))
  const from = events.length
  await call(client, 'session_reply', { thread_id: threadId, prompt: '[[work]] again' })
  expect(events.length).toBe(from)
  await client.close()
})

test('a denied start runs nothing and says the words of the owner', async () => {
  hosted = await HostedSessions.start({ hello: [[{ say: 'Hello.' }]] })
  const { client } = await attach()
  const started = call(client, 'session_start', { prompt: '[[hello]]' })
  await expect.poll(() => hosted.asked().length).toBe(1)
  hosted.asked()[0]?.deny('not today')
  expect(await started).toMatchObject({ isError: true })
  expect(textOf(await started)).toContain('not today')
  expect(hosted.model.requests).toHaveLength(0)
  await client.close()
})

test('what no session can answer is an error result that names it', async () => {
  hosted = await HostedSessions.start({ broken: [[{ status: 400, body: { error: { message: 'no such model' } } }]] })
  letStart()
  const { client } = await attach()
  const own = await hosted.newThread()
  const nowhere = '01900000-0000-7000-8000-000000000000'
  for (const [name, args, words] of [
    ['codex-reply', { prompt: 'x' }, 'threadId'],
    ['session_reply', { prompt: 'x', thread_id: 'abc' }, 'not a UUID'],
    ['session_reply', { prompt: 'x', thread_id: nowhere }, `Session not found for thread_id: ${nowhere}`],
    // A session of the owner is no agent's to continue.
    ['session_reply', { prompt: 'x', thread_id: own }, 'Session not found'],
    ['session_start', { prompt: '[[broken]]' }, 'no such model'],
  ] as const) {
    const result = await call(client, name, args)
    expect(result.isError, name).toBe(true)
    expect(textOf(result)).toContain(words)
  }
  await client.close()
})

test('a cancelled call interrupts the turn, withdraws its question, and a reply afterwards is answered as its own', async () => {
  hosted = await HostedSessions.start({ one: [[removal], [{ say: 'done' }]], two: [[{ say: 'Second.' }]] })
  letStart()
  mkdirSync(join(hosted.work, 'kept'))
  const { client } = await attach()
  const first = await call(client, 'session_start', { prompt: '[[two]]', sandbox: 'workspace-write' })
  const { threadId } = first.structuredContent as { threadId: string }
  const cancel = new AbortController()
  const cancelled = call(client, 'session_reply', { thread_id: threadId, prompt: '[[one]]' }, cancel.signal)
  await expect.poll(() => commandQuestions().length).toBe(1)
  cancel.abort(new Error('escape'))
  await expect(cancelled).rejects.toThrow()
  await expect.poll(() => commandQuestions()[0]?.isWithdrawn).toBe(true)
  const reply = await call(client, 'session_reply', { thread_id: threadId, prompt: '[[two]]' })
  expect(reply.structuredContent).toEqual({ threadId, content: 'Second.' })
  await client.close()
})

test('a client that goes away takes its turn and its question with it', async () => {
  hosted = await HostedSessions.start({ one: [[removal], [{ say: 'done' }]] })
  letStart()
  const { client, socket } = await attach()
  const lost = call(client, 'session_start', { prompt: '[[one]]', sandbox: 'workspace-write' }).catch(() => 'gone')
  await expect.poll(() => commandQuestions().length).toBe(1)
  socket.destroy()
  expect(await lost).toBe('gone')
  await expect.poll(() => commandQuestions()[0]?.isWithdrawn).toBe(true)
  expect(hosted.model.requests).toHaveLength(1)
})

test('an interrupted turn answers the call', async () => {
  hosted = await HostedSessions.start({ slow: [[{ hang: true }]] })
  letStart()
  const { client } = await attach()
  const started = call(client, 'session_start', { prompt: '[[slow]]' })
  await expect.poll(() => hosted.model.requests.length).toBe(1)
  const { data } = await hosted.call<{ data: string[] }>('thread/loaded/list', {})
  const { data: turns } = await hosted.call<{ data: { id: string }[] }>('thread/turns/list', { threadId: data[0] })
  await hosted.call('turn/interrupt', { threadId: data[0], turnId: turns[0]?.id })
  expect(await started).toMatchObject({ isError: true, structuredContent: { threadId: data[0] } })
  await client.close()
})
