import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Question } from '../../testing/deciding-host.ts'
import { AGENT_TOKEN, HostedSessions, OWNER_TOKEN } from '../../testing/hosted-sessions.ts'

const ESCALATED = { sandbox_permissions: 'require_escalated', justification: 'may I?' }
let hosted: HostedSessions
afterEach(() => hosted.stop())

/** Commands that were approved are only recorded. */
const recordOnly = () => (hosted.host.policy = (question) => question.gate === 'observe' && question.allow())
const argvOf = (question: Question | undefined) => question?.subject.kind === 'command' && question.subject.argv
const completed = () =>
  expect.poll(() => hosted.news.some(({ method }) => method === 'turn/completed'), { timeout: 10_000 }).toBe(true)
const removal = (path: string) => ({ call: 'exec_command', args: { cmd: `rm -rf ${path}` } })

test('a thread is a session whose title is its first words, and a command is asked about as it will run', async () => {
  hosted = await HostedSessions.start({ one: [[removal('gone')], [{ say: 'done' }]] })
  recordOnly()
  const threadId = await hosted.newThread()
  expect(hosted.host.sessions).toMatchObject([
    { id: `ses_${threadId}`, agentName: 'Gatehouse', via: 'app-server', cwd: hosted.work },
  ])
  mkdirSync(join(hosted.work, 'gone'))
  await hosted.say(threadId, '[[one]] clean up')
  await expect.poll(() => hosted.asked().length).toBe(1)
  const [question] = hosted.asked()
  expect(question).toMatchObject({
    origin: { sessionId: `ses_${threadId}` },
    subject: { kind: 'command', cwd: hosted.work, tty: false, sandbox: 'none', envChanges: { NO_COLOR: '1' } },
  })
  expect(argvOf(question)).toEqual([expect.any(String), '-lc', 'rm -rf gone'])
  question?.allow()
  await completed()
  expect(hosted.model.requests).toHaveLength(2)
  const ran = hosted.host.questions.find(({ gate }) => gate === 'observe')
  expect(ran).toMatchObject({ origin: { sessionId: `ses_${threadId}` } })
  expect(argvOf(ran)).toEqual(argvOf(question))
})

test('a denial with words runs nothing and the model reads the words', async () => {
  hosted = await HostedSessions.start({ one: [[removal('kept')], [{ say: 'understood' }]] })
  recordOnly()
  mkdirSync(join(hosted.work, 'kept'))
  await hosted.say(await hosted.newThread(), '[[one]] clean up')
  await expect.poll(() => hosted.asked().length).toBe(1)
  hosted.asked()[0]?.deny('keep that folder')
  await completed()
  expect(hosted.model.lastInput).toContain('keep that folder')
  expect(hosted.host.questions.some(({ gate }) => gate === 'observe')).toBe(false)
})

test('a client of the socket that answers first withdraws the question from the Inbox', async () => {
  hosted = await HostedSessions.start({ one: [[removal('gone')], [{ say: 'done' }]] })
  recordOnly()
  const threadId = await hosted.newThread()
  const client = new WebSocket(`ws+unix://${join(hosted.folder, 'app-server.sock')}:/`)
  client.on('message', (text: Buffer) => {
    const { id, method } = JSON.parse(text.toString()) as { id?: number; method?: string }
    if (method === 'item/commandExecution/requestApproval')
      client.send(JSON.stringify({ id, result: { decision: 'accept' } }))
  })
  await new Promise((resolve) => client.once('open', resolve))
  client.send(JSON.stringify({ id: 1, method: 'initialize', params: { clientInfo: { name: 't', version: '1' } } }))
  client.send(JSON.stringify({ id: 2, method: 'thread/resume', params: { threadId } }))
  await hosted.say(threadId, '[[one]] clean up')
  await completed()
  await expect.poll(() => hosted.asked().map(({ isWithdrawn }) => isWithdrawn)).toEqual([true])
  client.close()
})

test('a command of a child agent is asked about in the session of the agent', async () => {
  hosted = await HostedSessions.start({
    part: [[removal('gone')], [{ say: 'it is gone' }]],
    one: (_attempt, outputs) => {
      const namespace = 'multi_agent_v1'
      if (outputs.length === 0) return [{ call: 'spawn_agent', args: { message: '[[part]] clean up' }, namespace }]
      if (outputs.length > 1) return [{ say: 'done' }]
      const { agent_id } = JSON.parse(outputs[0]!) as { agent_id: string }
      return [{ call: 'wait_agent', args: { targets: [agent_id] }, namespace }]
    },
  })
  recordOnly()
  mkdirSync(join(hosted.work, 'gone'))
  const threadId = await hosted.newThread()
  await hosted.say(threadId, '[[one]] delegate')
  await expect.poll(() => hosted.asked().length).toBe(1)
  const child = hosted.host.sessions.find(({ id }) => id !== `ses_${threadId}`)!
  expect(hosted.asked()[0]).toMatchObject({ origin: { sessionId: child.id }, subject: { cwd: hosted.work } })
  hosted.asked()[0]?.allow()
  await expect.poll(() => hosted.model.requests.at(-1)?.script).toBe('one')
  await expect.poll(() => hosted.model.lastInput).toContain('it is gone')
  expect(existsSync(join(hosted.work, 'gone'))).toBe(false)
})

test('a WebSocket needs the owner’s token; the agents’ token opens nothing that could decide', async () => {
  hosted = await HostedSessions.start({})
  const url = hosted.mcp.ready.endpoints.appServerWs ?? ''
  for (const headers of [undefined, { authorization: `Bearer ${AGENT_TOKEN}` }]) {
    const refused = new WebSocket(url, { headers })
    expect(
      await new Promise((resolve) => refused.once('unexpected-response', (_, { statusCode }) => resolve(statusCode))),
    ).toBe(401)
  }
  const open = new WebSocket(url, { headers: { authorization: `Bearer ${OWNER_TOKEN}` } })
  await new Promise((resolve) => open.once('open', resolve))
  open.close()
})

test('what a policy lets run with full rights is asked about by the gate itself', async () => {
  hosted = await HostedSessions.start({
    one: [[{ call: 'exec_command', args: { cmd: 'touch made' } }], [{ say: 'done' }]],
  })
  await hosted.say(await hosted.newThread({ approvalPolicy: 'never' }), '[[one]] make it')
  await expect.poll(() => hosted.asked().length).toBe(1)
  hosted.asked()[0]?.deny('not with full rights')
  await completed()
  expect(hosted.model.lastInput).toContain('not with full rights')
})

test('an escalation out of the sandbox is asked about even when nothing dangerous is in it', async () => {
  hosted = await HostedSessions.start({
    one: [[{ call: 'exec_command', args: { cmd: 'touch made', ...ESCALATED } }], [{ say: 'done' }]],
  })
  recordOnly()
  await hosted.say(await hosted.newThread({ sandbox: 'read-only' }), '[[one]] make it')
  await expect.poll(() => hosted.asked().length).toBe(1)
  hosted.asked()[0]?.allow()
  await completed()
  expect(hosted.model.lastInput).toContain('Process exited with code 0')
})

/** A command that the sandbox of the thread refuses, under the policy that asks about everything. */
async function refusedBySandbox(): Promise<string> {
  hosted = await HostedSessions.start({
    one: [[{ call: 'exec_command', args: { cmd: 'touch made && echo made it' } }], [{ say: 'done' }]],
  })
  recordOnly()
  const threadId = await hosted.newThread({ sandbox: 'read-only', approvalPolicy: 'untrusted' })
  await hosted.say(threadId, '[[one]] make it')
  await expect.poll(() => hosted.asked().length).toBe(1)
  expect(hosted.asked()[0]?.subject).toMatchObject({ sandbox: 'read-only' })
  hosted.asked()[0]?.allow()
  await expect.poll(() => hosted.asked().length, { timeout: 20_000 }).toBe(2)
  expect(hosted.asked()[1]).toMatchObject({
    refused: expect.stringContaining('Read-only file system'),
    subject: { sandbox: 'none', argv: [expect.any(String), '-lc', 'touch made && echo made it'] },
  })
  expect(existsSync(join(hosted.work, 'made'))).toBe(false)
  return threadId
}

test('what the sandbox refused is asked about with the refusal, and runs without it only after a yes', async () => {
  await refusedBySandbox()
  hosted.asked()[1]?.allow()
  await completed()
  expect(existsSync(join(hosted.work, 'made'))).toBe(true)
  expect(hosted.model.lastInput).toContain('made it')
  const starts = hosted.host.questions.filter(({ gate }) => gate === 'observe')
  expect(starts.map(({ subject }) => subject.kind === 'command' && subject.sandbox)).toEqual(['read-only', 'none'])
})

test('a no leaves it refused, and the model is told both', async () => {
  await refusedBySandbox()
  hosted.asked()[1]?.deny('stay inside')
  await completed()
  expect(existsSync(join(hosted.work, 'made'))).toBe(false)
  expect(hosted.model.lastInput).toMatch(/Read-only file system.*the sandbox refused it.*stay inside/)
})

/** A command that its sandbox refuses long after the call that started it was answered. */
async function refusedLater(): Promise<void> {
  const cmd = 'until [ -e go ]; do sleep 0.05; done; touch made && echo made it'
  hosted = await HostedSessions.start({
    one: (_attempt, outputs) => {
      const session = /session ID (\d+)/.exec(outputs.at(-1) ?? '')?.[1]
      if (outputs.length === 0) return [{ call: 'exec_command', args: { cmd, yield_time_ms: 250 } }]
      return session === undefined
        ? [{ say: 'done' }]
        : [{ call: 'write_stdin', args: { session_id: Number(session) } }]
    },
  })
  recordOnly()
  const threadId = await hosted.newThread({ sandbox: 'read-only', approvalPolicy: 'untrusted' })
  await hosted.say(threadId, '[[one]] make it')
  await expect.poll(() => hosted.asked().length).toBe(1)
  hosted.asked()[0]?.allow()
  await expect.poll(() => hosted.model.requests.length).toBeGreaterThan(1)
  writeFileSync(join(hosted.work, 'go'), '')
  await expect.poll(() => hosted.asked().length).toBe(2)
  expect(hosted.asked()[1]).toMatchObject({
    refused: expect.stringContaining('Read-only file system'),
    subject: { sandbox: 'none', argv: [expect.any(String), '-lc', cmd] },
  })
}

test('what the sandbox refused in the background is asked about when the model looks for its end', async () => {
  await refusedLater()
  hosted.asked()[1]?.allow()
  await completed()
  expect(existsSync(join(hosted.work, 'made'))).toBe(true)
  expect(hosted.model.lastInput).toContain('made it\\n')
})

test('a no in the background leaves it refused, is told once, and nobody is asked again', async () => {
  await refusedLater()
  hosted.asked()[1]?.deny('stay inside')
  await completed()
  expect(existsSync(join(hosted.work, 'made'))).toBe(false)
  expect(hosted.model.lastInput).toMatch(/Read-only file system.*the sandbox refused it.*stay inside/)
  expect(hosted.asked()).toHaveLength(2)
})

test('where the policy does not ask, a refusal is only told to the model', async () => {
  hosted = await HostedSessions.start({
    one: [[{ call: 'exec_command', args: { cmd: 'touch made' } }], [{ say: 'done' }]],
  })
  recordOnly()
  await hosted.say(await hosted.newThread({ sandbox: 'read-only', approvalPolicy: 'on-request' }), '[[one]] make it')
  await completed()
  expect(hosted.asked()).toEqual([])
  expect(hosted.model.lastInput).toContain('Read-only file system')
  expect(existsSync(join(hosted.work, 'made'))).toBe(false)
})

test('a page read in the middle of a turn holds what the turn has finished', async () => {
  hosted = await HostedSessions.start({ one: [[{ say: 'First words.' }, removal('kept')], [{ say: 'done' }]] })
  const threadId = await hosted.newThread()
  await hosted.say(threadId, '[[one]] go')
  await expect.poll(() => hosted.asked().length).toBe(1)
  const { data } = await hosted.call<{ data: { item: { type: string } }[] }>('thread/items/list', { threadId })
  expect(data.map(({ item }) => item.type)).toEqual(['userMessage', 'agentMessage'])
})
