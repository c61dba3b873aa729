import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, processesOf } from '../fixtures/process-table.ts'
import { expect, test } from '../fixtures/test.ts'
import { STUBBORN_TREE } from '../fixtures/stubborn-tree.ts'
import { Inbox } from '../pages/inbox.ts'

// The product's promise: from the wish to quit until nothing is left.
const QUIT_LIMIT_MS = 5_000

test('quitting with a running tree that ignores SIGTERM leaves nothing after five seconds', async ({
  app,
  home,
  page,
  attachAgent,
}) => {
  const agent = await attachAgent()
  agent.run(STUBBORN_TREE, { background: true }).catch(() => {
    // The host goes away underneath it.
  })
  await new Inbox(page).allow('trap')
  const pids = () => readFileSync(join(home.workplace, 'pids'), 'utf8').trim().split('\n').map(Number)
  await expect
    .poll(() => {
      try {
        return pids().length
      } catch {
        return 0
      }
    })
    .toBe(3)
  await agent.detach()

  const startedAtMs = Date.now()
  const members = pids()
  await app.close()
  expect(Date.now() - startedAtMs).toBeLessThan(QUIT_LIMIT_MS)
  expect(members.filter(isAlive)).toEqual([])
  expect(processesOf(home.root)).toEqual([])
})

test('SIGTERM ends the app in order', async ({ app, home, page }) => {
  await page.waitForLoadState('load')
  const exit = new Promise((resolve) =>
    app.electron.process().once('exit', (code, signal) => resolve({ code, signal })),
  )
  process.kill(app.pid, 'SIGTERM')
  expect(await exit).toEqual({ code: 0, signal: null })
  expect(processesOf(home.root)).toEqual([])
})

test('whoever quits while the sidecars still start gets an orderly end as well', async ({ home, launchApp }) => {
  const app = await launchApp()
  const exit = new Promise((resolve) => app.electron.process().once('exit', (code) => resolve(code)))
  process.kill(app.pid, 'SIGTERM')
  expect(await exit).toBe(0)
  expect(processesOf(home.root)).toEqual([])
  expect(home.hostFile()).toBeUndefined()
})
