import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { ROOT, type Home } from '../fixtures/app-under-test.ts'
import { expect, test } from '../fixtures/test.ts'

// Packing copies a whole runtime.
test.setTimeout(240_000)

/** Packs the app as `npm run package:dir` does, into the test's own folder. */
function pack(home: Home): string {
  const output = join(home.root, 'dist')
  const words = ['scripts/package.mjs', '--dir', `-c.directories.output=${output}`]
  const run = spawnSync(process.execPath, words, { cwd: ROOT, encoding: 'utf8' })
  if (run.status !== 0) throw new Error(`packing failed:\n${run.stdout}\n${run.stderr}`)
  return join(output, 'linux-unpacked')
}

test.skip(process.platform !== 'linux', 'the folder is laid out differently on other platforms')

test('the packed app starts with healthy sidecars, closed fuses and a command line that reaches it', async ({
  home,
  startPlainApp,
}) => {
  const folder = pack(home)
  const app = startPlainApp(join(folder, 'gatehouse'))
  await app.waitForText('Nothing waits for you')
  const gatehouse = (...words: string[]) =>
    spawnSync(process.execPath, [join(folder, 'resources/command-line/bin/gatehouse'), ...words], {
      env: home.environment(),
      cwd: home.workplace,
      encoding: 'utf8',
    })
  await expect.poll(() => gatehouse('status').stdout.match(/ ready /g)?.length).toBe(3)
  expect(gatehouse('status').stdout).toContain('(app)')
  expect(gatehouse('run', '--', 'sh', '-c', 'echo packed; exit 7')).toMatchObject({ status: 7, stdout: 'packed\n' })

  const reader = [join(ROOT, 'node_modules/.bin/electron-fuses'), 'read', '--app', join(folder, 'gatehouse')]
  const fuses = stripVTControlCharacters(execFileSync(process.execPath, reader, { encoding: 'utf8' }))
  expect(fuses).toMatch(/RunAsNode is Disabled/)
  expect(fuses).toMatch(/EnableNodeOptionsEnvironmentVariable is Disabled/)
  expect(fuses).toMatch(/EnableNodeCliInspectArguments is Disabled/)
  expect(fuses).toMatch(/OnlyLoadAppFromAsar is Enabled/)
  expect(await app.stop()).toBe(0)
})
