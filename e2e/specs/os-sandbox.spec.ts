import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { _electron } from '@playwright/test'
import { ROOT, type Home } from '../fixtures/app-under-test.ts'
import { expect, test } from '../fixtures/test.ts'

/** `nobody` on every Linux. */
const UNPRIVILEGED = 65534

test.skip(process.platform !== 'linux', 'Seccomp is how Linux shows its sandbox')

test("the page's process runs in Chromium's operating system sandbox", async ({ home }) => {
  const isRoot = process.getuid?.() === 0
  const app = await _electron.launch({
    ...(isRoot ? asNobody(home) : { args: [ROOT, '--disable-gpu'], cwd: ROOT, env: home.environment() }),
    chromiumSandbox: true,
    timeout: 20_000,
  })
  const page = app.windows()[0] ?? (await app.waitForEvent('window'))
  await page.waitForLoadState('domcontentloaded')
  const found = await app.evaluate(({ app, BrowserWindow }) => ({
    hasSwitch: app.commandLine.hasSwitch('no-sandbox'),
    pid: BrowserWindow.getAllWindows()[0]?.webContents.getOSProcessId(),
  }))
  const status = readFileSync(`/proc/${found.pid}/status`, 'utf8')
  await app.close()
  expect(found.hasSwitch).toBe(false)
  // 2 = a filter of system calls is in force.
  expect(status).toMatch(/^Seccomp:\s*2$/m)
})

/**
 * Chromium gives root no sandbox, so the app runs as another user here: from copies of the runtime and the
 * build that this user can read, on the same display.
 */
function asNobody(home: Home) {
  const runtime = join(home.root, 'runtime')
  const checkout = join(home.root, 'app')
  const own = join(home.root, 'nobody')
  const distribution = process.env.ELECTRON_OVERRIDE_DIST_PATH
  if (!distribution) throw new Error('ELECTRON_OVERRIDE_DIST_PATH is not set: run this through "npm test"')
  // Hard links where the file system allows: the runtime is 234 MB.
  try {
    execFileSync('cp', ['-al', distribution, runtime], { stdio: 'ignore' })
  } catch {
    execFileSync('cp', ['-a', distribution, runtime])
  }
  for (const part of ['package.json', 'out', 'node_modules/@lydell'])
    cpSync(join(ROOT, part), join(checkout, part), { recursive: true })
  mkdirSync(own, { mode: 0o700 })
  chownSync(own, UNPRIVILEGED, UNPRIVILEGED)
  chmodSync(home.root, 0o711)
  const authority = process.env.XAUTHORITY
  if (authority) {
    copyFileSync(authority, join(own, 'xauthority'))
    chownSync(join(own, 'xauthority'), UNPRIVILEGED, UNPRIVILEGED)
  }
  const start = join(home.root, 'start')
  writeFileSync(
    start,
    `#!/bin/sh\nexec setpriv --reuid=${UNPRIVILEGED} --regid=${UNPRIVILEGED} --clear-groups '${join(runtime, 'electron')}' "$@"\n`,
    { mode: 0o755 },
  )
  return {
    executablePath: start,
    args: [checkout, '--disable-gpu'],
    cwd: dirname(checkout),
    env: home.environment({
      HOME: own,
      GATEHOUSE_HOME: join(own, 'data'),
      GATEHOUSE_USER_DATA: join(own, 'profile'),
      XDG_RUNTIME_DIR: own,
      ...(authority ? { XAUTHORITY: join(own, 'xauthority') } : {}),
    }),
  }
}
