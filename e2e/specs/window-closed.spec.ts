import { factsOf } from '../fixtures/agent.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { StatusBar } from '../pages/status-bar.ts'
import { clickNotification, clickTray, desktopSeen } from '../probes.ts'

test('a closed window comes back from the tray with the request still waiting, and it can be allowed', async ({
  app,
  page,
  attachAgent,
}) => {
  const agent = await attachAgent()
  const answer = agent.run(['echo', 'still-here'])
  await expect(new Inbox(page).card('still-here')).toBeVisible()
  await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
  await expect.poll(() => app.electron.windows().length).toBe(0)

  const reopened = app.electron.waitForEvent('window')
  await clickTray(app.electron)
  const inbox = new Inbox(await reopened)
  await inbox.allow('still-here')
  expect(factsOf(await answer)).toMatchObject({ exitCode: 0, output: 'still-here\n' })
})

test('with the window closed a request notifies, counts in the tray, and a click leads to its card', async ({
  app,
  page,
  attachAgent,
}) => {
  await new StatusBar(page).waitForHealth()
  await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
  await expect.poll(() => app.electron.windows().length).toBe(0)
  expect(await desktopSeen(app.electron)).toMatchObject({
    trayToolTip: 'Gatehouse: nothing waits for you',
    notifications: [],
  })

  const agent = await attachAgent({ name: 'gemini-cli' })
  const answer = agent.run(['echo', 'knock'])
  await expect
    .poll(async () => (await desktopSeen(app.electron)).notifications)
    .toEqual([{ title: 'A request waits for you', body: 'gemini-cli wants to run echo knock' }])
  expect(await desktopSeen(app.electron)).toMatchObject({
    trayToolTip: 'Gatehouse: 1 request waits for you',
    trayMenu: expect.arrayContaining(['gemini-cli wants to run echo knock', 'Open Gatehouse', 'Quit Gatehouse']),
    badge: 1,
  })

  const reopened = app.electron.waitForEvent('window')
  await clickNotification(app.electron)
  const inbox = new Inbox(await reopened)
  await expect(inbox.card('knock')).toBeFocused()
  await inbox.allow('knock')
  await answer
  await expect.poll(async () => (await desktopSeen(app.electron)).trayToolTip).toBe('Gatehouse: nothing waits for you')
})
