import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { factsOf, textOf } from '../fixtures/agent.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Processes } from '../pages/processes.ts'

test('an agent runs a command that the owner allows by keyboard, output is seen live, every byte arrives', async ({
  page,
  attachAgent,
}) => {
  const agent = await attachAgent({ name: 'claude-code' })
  const command = 'for i in 1 2 3 4 5 6 7 8 9 10; do echo "line $i of ten"; sleep 0.2; done; exit 3'
  const answer = agent.run(command)

  const inbox = new Inbox(page)
  const card = inbox.card('line $i of ten')
  await expect(card).toContainText('claude-code')
  await expect(card.getByRole('group', { name: /^Command/ })).toHaveText(command)
  await inbox.allow('line $i of ten')

  const processes = new Processes(page)
  await processes.open('line $i of ten')
  await expect(processes.terminal()).toContainText('line 2 of ten')
  // Live: the middle is on screen while the end has not been written yet.
  await expect(processes.terminal()).not.toContainText('line 10 of ten', { timeout: 1 })
  await expect(processes.terminal()).toContainText('line 10 of ten')

  const result = await answer
  const facts = factsOf(result)
  expect(facts).toMatchObject({ status: 'exited', exitCode: 3 })
  const expected = Array.from({ length: 10 }, (_, i) => `line ${i + 1} of ten\n`).join('')
  const bytes = await agent.readAll(facts.processId as string)
  expect(sha256(bytes)).toBe(sha256(Buffer.from(expected)))
})

test('a denial hands its words to the agent and nothing runs', async ({ home, page, attachAgent }) => {
  const agent = await attachAgent()
  const canary = join(home.workplace, 'canary')
  const answer = agent.run(`touch ${canary}`)
  await new Inbox(page).deny('touch', 'use the staging folder instead')
  const result = await answer
  expect(result.isError).toBe(true)
  expect(textOf(result)).toContain('use the staging folder instead')
  expect(existsSync(canary)).toBe(false)
})

test('an agent that gives up takes its question with it', async ({ home, page, attachAgent }) => {
  const agent = await attachAgent()
  const canary = join(home.workplace, 'canary')
  const controller = new AbortController()
  const answer = agent.run(`touch ${canary}`, {}, { signal: controller.signal })
  const inbox = new Inbox(page)
  await expect(inbox.card('touch')).toBeVisible()
  controller.abort(new Error('changed my mind'))
  await expect(answer).rejects.toThrow()
  await expect(inbox.card('touch')).toBeHidden()
  await expect(inbox.ended('touch')).toContainText('Withdrawn')
  expect(existsSync(canary)).toBe(false)
})

test('a command allowed for the session does not ask again in that session, but in another one it does', async ({
  page,
  attachAgent,
}) => {
  const inbox = new Inbox(page)
  const first = await attachAgent({ name: 'first-agent' })
  const answer = first.run(['printf', 'once'])
  const card = await inbox.focusNext('printf')
  await card.getByRole('radio', { name: 'Session' }).check()
  await card.getByRole('button', { name: 'Allow for session' }).click()
  expect(factsOf(await answer)).toMatchObject({ output: 'once' })
  expect(factsOf(await first.run(['printf', 'once']))).toMatchObject({ output: 'once' })

  const second = await attachAgent({ name: 'second-agent' })
  const asked = second.run(['printf', 'once'])
  await expect(inbox.card('printf')).toContainText('second-agent')
  await inbox.allow('printf')
  expect(factsOf(await asked)).toMatchObject({ output: 'once' })
})

test("an agent's own permission question is answered in the Inbox", async ({ page, attachAgent }) => {
  const agent = await attachAgent({ name: 'claude-code' })
  const input = { command: 'git push --force', description: 'publish' }
  const answer = agent.call('request_permission', { tool_name: 'Bash', input, tool_use_id: 'toolu_1' })
  await new Inbox(page).deny('git push --force', 'not on a Friday')
  const reply = JSON.parse(textOf(await answer)) as { behavior: string; message: string }
  expect(reply.behavior).toBe('deny')
  expect(reply.message).toContain('not on a Friday')
})

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
