import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, processesOf } from '../fixtures/process-table.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'

// The product's promise: from the wish to quit until nothing is left.
const QUIT_LIMIT_MS = 5_000

/** A tree that shrugs off every polite signal, one member in a session of its own. */
const STUBBORN = `trap '' TERM INT HUP
echo $$ >> pids
sh -c 'trap "" TERM INT HUP; echo $$ >> pids; while :; do sleep 0.2; done' &
setsid sh -c 'trap "" TERM INT HUP; echo $$ >> pids; while :; do sleep 0.2; done' &
while :; do sleep 0.2; done`

test('quitting with a running tree that ignores SIGTERM leaves nothing after five seconds', async ({
  app,
  home,
  page,
  attachAgent,
}) => {
  const agent = await attachAgent()
  agent.run(STUBBORN, { background: true }).catch(() => {
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

test('kill -9 of the app leaves no process of a running command', async ({ app, home, page, attachAgent }) => {
  const agent = await attachAgent()
  agent.run(STUBBORN, { background: true }).catch(() => {})
  await new Inbox(page).allow('trap')
  await expect.poll(() => processesOf(home.workplace).length).toBeGreaterThan(4)
  await agent.detach()
  process.kill(app.pid, 'SIGKILL')
  await expect.poll(() => processesOf(home.root)).toEqual([])
})
