import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Home } from '../fixtures/app-under-test.ts'
import { factsOf, textOf } from '../fixtures/agent.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { StatusBar } from '../pages/status-bar.ts'

function writeData(home: Home, name: string, text: string): void {
  const path = join(home.dataDir, name)
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
  writeFileSync(path, text)
}

/** Files beside the original that still hold exactly its bytes. */
function keptAside(home: Home, folder: string, name: string, text: string): string[] {
  return readdirSync(join(home.dataDir, folder)).filter(
    (entry) =>
      entry !== name && entry.startsWith(name) && readFileSync(join(home.dataDir, folder, entry), 'utf8') === text,
  )
}

test('corrupt settings are named with their place and kept aside, and the app works', async ({ home, launchApp }) => {
  const broken = '{\n  "theme": "dark",\n  "unknownHost": \n}\n'
  writeData(home, 'settings.json', broken)
  const app = await launchApp()
  const page = await app.page()
  await new StatusBar(page).waitForHealth()
  await expect(page.getByRole('region', { name: 'Notices' })).toContainText('settings.json')
  expect(keptAside(home, '', 'settings.json', broken)).toHaveLength(1)
})

test('a broken rule is named with file and line; what the file denies stays denied, what it allows is asked', async ({
  home,
  launchApp,
  attachAgent,
}) => {
  writeData(
    home,
    'rules/default.rules',
    [
      'prefix_rule(pattern=["rmdir"], decision="forbidden", justification="folders stay")',
      'prefix_rule(pattern=, decision="allow")',
      'prefix_rule(pattern=["echo"], decision="allow")',
      '',
    ].join('\n'),
  )
  const app = await launchApp()
  const page = await app.page()
  await new StatusBar(page).waitForHealth()
  await page.keyboard.press('Control+6')
  await expect(page.getByRole('main')).toContainText(/default\.rules:2/)
  const agent = await attachAgent()
  const denied = await agent.run(['rmdir', 'x'])
  expect(denied.isError).toBe(true)
  expect(textOf(denied)).toContain('folders stay')
  const asked = agent.run(['echo', 'asked'])
  const inbox = new Inbox(page)
  await inbox.open()
  await inbox.allow('asked')
  expect(factsOf(await asked)).toMatchObject({ output: 'asked\n' })
})

test('a corrupt journal line is kept and the journal goes on', async ({ home, launchApp, attachAgent }) => {
  const first = await launchApp()
  await new StatusBar(await first.page()).waitForHealth()
  await first.close()
  const folder = join(home.dataDir, 'audit')
  const journal = readdirSync(folder).find((name) => name.endsWith('.jsonl'))
  if (!journal) throw new Error('there is no journal')
  const before = `${readFileSync(join(folder, journal), 'utf8')}{"torn": "li`
  writeFileSync(join(folder, journal), before)

  const app = await launchApp()
  const page = await app.page()
  await new StatusBar(page).waitForHealth()
  const agent = await attachAgent()
  const answer = agent.run(['echo', 'recorded'])
  await new Inbox(page).allow('recorded')
  await answer
  await agent.detach()
  await app.close()
  const all = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('')
  expect(all).toContain('{"torn": "li')
  expect(all).toContain('recorded')
})

test('a data folder that cannot be used is named with a next step', async ({ home, startPlainApp }) => {
  writeFileSync(home.dataDir, 'a file where the folder should be')
  const app = startPlainApp()
  await expect.poll(() => app.stderr).toContain(home.dataDir)
  expect(app.stderr).toContain('GATEHOUSE_HOME')
  // It waits for the owner to read the same words in a dialog.
  await app.kill()
})

test('a proxy port in use is named in the card of the proxy, and everything works on another one', async ({
  home,
  launchApp,
  attachAgent,
}) => {
  const squatter = createServer()
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve))
  const { port } = squatter.address() as { port: number }
  writeData(home, 'settings.json', JSON.stringify({ proxyPort: port }))
  const app = await launchApp()
  const page = await app.page()
  const status = new StatusBar(page)
  await status.waitForHealth()
  await status.dot('network proxy').click()
  await expect(page.getByRole('dialog')).toContainText(String(port))
  await page.keyboard.press('Escape')
  const agent = await attachAgent()
  const answer = agent.run(['echo', 'works anyway'])
  await new Inbox(page).allow('works anyway')
  expect(factsOf(await answer)).toMatchObject({ output: 'works anyway\n' })
  squatter.close()
})
