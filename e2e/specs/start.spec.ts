import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '../fixtures/test.ts'
import { ROOT } from '../fixtures/app-under-test.ts'
import { StatusBar } from '../pages/status-bar.ts'

// From the start of the Electron process to three healthy sidecars on screen; the product's own promise.
const START_LIMIT_MS = 5_000

test('the window opens with three healthy sidecars within five seconds', async ({ app, page }) => {
  await new StatusBar(page).waitForHealth()
  expect(Date.now() - app.launchedAtMs).toBeLessThan(START_LIMIT_MS)
})

test('host.json is for its owner alone and names the app', async ({ home, page }) => {
  await new StatusBar(page).waitForHealth()
  const file = await home.whenHostIsKnown()
  expect(statSync(join(home.dataDir, 'run/host.json')).mode & 0o777).toBe(0o600)
  expect(statSync(home.dataDir).mode & 0o777).toBe(0o700)
  expect(file).toMatchObject({ kind: 'app' })
})

test('a second start shows the first one and ends', async ({ app, home, page }) => {
  await new StatusBar(page).waitForHealth()
  await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.minimize())
  const executable = join(process.env.ELECTRON_OVERRIDE_DIST_PATH ?? '', 'electron')
  const second = spawn(executable, ['--no-sandbox', ROOT], { env: home.environment(), stdio: 'ignore' })
  const code = await new Promise((resolve) => second.once('exit', resolve))
  expect(code).toBe(0)
  await expect
    .poll(() => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isMinimized()))
    .toBe(false)
  expect(await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1)
})

test('the window comes back where it was closed', async ({ launchApp }) => {
  const first = await launchApp()
  const page = await first.page()
  await first.electron.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0]?.setBounds({ x: 40, y: 30, width: 900, height: 700 }),
  )
  // The display server takes its time; the page hears of its size when it really has it.
  await expect.poll(() => page.evaluate(() => [outerWidth, outerHeight])).toEqual([900, 700])
  const set = await first.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getBounds())
  await first.close()
  const second = await launchApp()
  await second.page()
  const found = await second.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getBounds())
  expect(found).toEqual(set)
})
