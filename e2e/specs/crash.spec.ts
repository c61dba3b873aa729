import { factsOf } from '../fixtures/agent.ts'
import { runGatehouse } from '../fixtures/command-line.ts'
import { processesOf } from '../fixtures/process-table.ts'
import { expect, test } from '../fixtures/test.ts'
import { STUBBORN_TREE } from '../fixtures/stubborn-tree.ts'
import type { Home } from '../fixtures/app-under-test.ts'

/** Waits for the one request and answers it from the command line. */
async function approveFromTerminal(home: Home): Promise<void> {
  await expect.poll(async () => (await runGatehouse(home, ['approvals'])).stdout).toMatch(/^req_\w+/m)
  const { stdout } = await runGatehouse(home, ['approvals'])
  const id = /^req_\w+/m.exec(stdout)?.[0] ?? ''
  expect(await runGatehouse(home, ['approve', id])).toMatchObject({ code: 0 })
}

test('a page whose process is killed is loaded again with everything on it', async ({
  home,
  startPlainApp,
  attachAgent,
}) => {
  const app = startPlainApp()
  await app.waitForText('Nothing waits for you')
  const agent = await attachAgent()
  const answer = agent.run(['echo', 'survives'])
  await app.waitForText('survives')
  await app.evaluate('window.isOld = true')
  const [page] = processesOf(home.root).filter(({ command }) => command.includes('--type=renderer'))
  if (!page) throw new Error('the page has no process')
  process.kill(page.pid, 'SIGKILL')
  await expect.poll(() => app.evaluate('window.isOld').catch(() => true)).toBe(undefined)
  await app.waitForText('survives')
  await approveFromTerminal(home)
  expect(factsOf(await answer)).toMatchObject({ output: 'survives\n' })
  await agent.detach()
  expect(await app.stop()).toBe(0)
})

test('kill -9 of the app leaves no process, not even of a command that ignores signals', async ({
  home,
  startPlainApp,
  attachAgent,
}) => {
  const app = startPlainApp()
  await app.waitForText('Nothing waits for you')
  const agent = await attachAgent()
  const answer = agent.run(STUBBORN_TREE, { background: true })
  await approveFromTerminal(home)
  expect(factsOf(await answer)).toMatchObject({ status: 'running' })
  await expect.poll(() => processesOf(home.workplace).length).toBeGreaterThan(4)
  await agent.detach()
  await app.kill()
  await expect.poll(() => processesOf(home.root)).toEqual([])
})
