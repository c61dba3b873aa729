import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '../fixtures/process-table.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Processes } from '../pages/processes.ts'
import { StatusBar } from '../pages/status-bar.ts'
import { desktopSeen } from '../probes.ts'

const COLOURED = String.raw`printf '\033[31mred\033[0m\r\nplain\000end\n'`

test('output is saved byte for byte, or as text without colours', async ({ home, launchApp, attachAgent }) => {
  const path = join(home.root, 'saved.log')
  const app = await launchApp({ GATEHOUSE_E2E_SAVE_AS: path })
  const page = await app.page()
  const agent = await attachAgent()
  const answer = agent.run(COLOURED)
  await new Inbox(page).allow('printf')
  await answer
  await new Processes(page).open('printf')
  await page.getByRole('button', { name: /^Save raw/ }).click()
  await expect.poll(() => sizeOf(path)).toBe(24)
  expect(readFileSync(path, 'latin1')).toBe('\x1b[31mred\x1b[0m\r\nplain\x00end\n')
  await page.getByRole('button', { name: /^Save text/ }).click()
  await expect.poll(() => sizeOf(path)).toBe(13)
  expect(readFileSync(path, 'utf8')).toBe('red\nplainend\n')
})

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return -1
  }
}

test('only https addresses leave for the browser, and only after a question', async ({ launchApp }) => {
  const app = await launchApp({ GATEHOUSE_E2E_BUTTON: '0' })
  const page = await app.page()
  await new StatusBar(page).waitForHealth()
  const answers = await page.evaluate(async () => [
    await window.gatehouse.invoke('shell.openExternal', 'https://example.org/docs'),
    await window.gatehouse.invoke('shell.openExternal', 'file:///etc/passwd'),
    await window.gatehouse.invoke('shell.openExternal', 'no address'),
  ])
  expect(answers).toMatchObject([{ ok: true }, { ok: false, code: 'forbidden' }, { ok: false, code: 'invalidParams' }])
  expect(await desktopSeen(app.electron)).toMatchObject({
    questions: [{ message: 'Open example.org in your browser?', detail: 'https://example.org/docs' }],
    openedAddresses: ['https://example.org/docs'],
  })
})

test('an answer of no keeps the address in the app', async ({ app, page }) => {
  await new StatusBar(page).waitForHealth()
  await page.evaluate(() => window.gatehouse.invoke('shell.openExternal', 'https://example.org/'))
  expect(await desktopSeen(app.electron)).toMatchObject({ questions: [{}], openedAddresses: [] })
})

test('without the tray setting, closing the window ends the app', async ({ app, page }) => {
  await new StatusBar(page).waitForHealth()
  const outcome = await page.evaluate(() => window.gatehouse.invoke('settings.set', { keepInTray: false }))
  expect(outcome).toMatchObject({ ok: true, value: { keepInTray: false } })
  await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
  await expect.poll(() => isAlive(app.pid)).toBe(false)
})

test('the global shortcut is off until it is set, and a bad one is named', async ({ app, page }) => {
  await new StatusBar(page).waitForHealth()
  const isRegistered = () =>
    app.electron.evaluate(({ globalShortcut }) => globalShortcut.isRegistered('CommandOrControl+Shift+G'))
  expect(await isRegistered()).toBe(false)
  const set = (globalShortcut: string | null) =>
    page.evaluate((key) => window.gatehouse.invoke('settings.set', { globalShortcut: key }), globalShortcut)
  await set('CommandOrControl+Shift+G')
  await expect.poll(isRegistered).toBe(true)
  await set('No+Such+Key')
  await expect.poll(isRegistered).toBe(false)
  await expect(page.getByRole('region', { name: 'Notices' })).toContainText('No+Such+Key')
  await set(null)
  await expect.poll(isRegistered).toBe(false)
})
