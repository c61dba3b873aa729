import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { factsOf } from '../fixtures/agent.ts'
import { ROOT, type Home } from '../fixtures/app-under-test.ts'
import { isAlive } from '../fixtures/process-table.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { StatusBar } from '../pages/status-bar.ts'
import { desktopSeen } from '../probes.ts'

/** Starts a headless host as `gatehouse mcp` would, and waits until it can be reached. */
async function startHeadless(home: Home, words: string[]): Promise<number> {
  spawn(process.execPath, [join(ROOT, 'bin/gatehouse'), 'serve', ...words], {
    env: home.environment(),
    cwd: home.workplace,
    stdio: 'ignore',
  })
  const { kind, pid } = await home.whenHostIsKnown()
  expect(kind).toBe('headless')
  return pid
}

const STOP_AND_OPEN = { GATEHOUSE_E2E_BUTTON: '0' }
const LEAVE_IT = { GATEHOUSE_E2E_BUTTON: '1' }

test('an idle host that was started for an agent makes room for the window without a question', async ({
  home,
  launchApp,
}) => {
  const pid = await startHeadless(home, ['--until-idle'])
  const app = await launchApp()
  await new StatusBar(await app.page()).waitForHealth()
  expect(isAlive(pid)).toBe(false)
  await expect.poll(() => home.hostFile()?.kind).toBe('app')
  expect((await desktopSeen(app.electron)).questions).toEqual([])
})

test('a host that its owner started is stopped only when the owner says so', async ({ home, launchApp }) => {
  const pid = await startHeadless(home, [])
  const refused = await launchApp(LEAVE_IT)
  await expect.poll(() => isAlive(refused.pid)).toBe(false)
  expect(isAlive(pid)).toBe(true)

  const app = await launchApp(STOP_AND_OPEN)
  await new StatusBar(await app.page()).waitForHealth()
  expect(isAlive(pid)).toBe(false)
  const [question] = (await desktopSeen(app.electron)).questions
  expect(question?.message).toContain(String(pid))
})

test('an attached agent moves to the window and goes on', async ({ home, launchApp, attachAgent }) => {
  const agent = await attachAgent()
  await agent.client.listTools()
  expect(home.hostFile()?.kind).toBe('headless')
  const app = await launchApp(STOP_AND_OPEN)
  const page = await app.page()
  await new StatusBar(page).waitForHealth()
  const answer = agent.run(['echo', 'moved'])
  await new Inbox(page).allow('moved')
  expect(factsOf(await answer)).toMatchObject({ output: 'moved\n' })
})
