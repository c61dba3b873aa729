import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScriptedModel } from '../../sidecars/testing/scripted-model.ts'
import { violations } from '../fixtures/axe.ts'
import { CodexAppServer } from '../fixtures/codex-app-server.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Sessions } from '../pages/sessions.ts'
import { StatusBar } from '../pages/status-bar.ts'

/** What makes the other server ask. */
const escalated = { sandbox_permissions: 'require_escalated', justification: 'to tidy up' }

let model: ScriptedModel
let server: CodexAppServer
test.beforeEach(async ({ home }) => {
  model = await ScriptedModel.start({
    hello: [[{ say: 'Hello from the other house.' }]],
    work: [
      [{ call: 'exec_command', args: { cmd: 'rm -rf gone && echo cleaned', ...escalated } }],
      [
        {
          call: 'exec_command',
          args: { cmd: "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\nEOF" },
        },
      ],
      [{ say: 'It is done.' }],
    ],
    hang: [[{ hang: true }]],
    wait: [[{ call: 'exec_command', args: { cmd: 'rm -rf kept', ...escalated } }], [{ say: 'Over.' }]],
  })
  server = await CodexAppServer.prepare(home, model.baseUrl)
})
test.afterEach(async () => {
  await server.kill()
  model.close()
})

test('sessions of a real codex app-server over WebSocket: chosen in Settings, started, approved, interrupted, listed again, and a lost link allows nothing', async ({
  home,
  page,
}) => {
  for (const folder of ['gone', 'kept']) mkdirSync(join(home.workplace, folder))
  await server.start()
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)

  await page.keyboard.press('Control+7')
  const setting = page.getByRole('group', { name: 'Server of your sessions' })
  await setting.getByRole('radio', { name: /A running app server/ }).check()
  await setting.getByRole('textbox', { name: 'Address' }).fill('ws://198.51.100.7:1')
  await setting.getByRole('button', { name: 'Use this server' }).click()
  await expect(setting.getByRole('alert')).toContainText('externalAppServer.url: ws:// is for this machine only')
  await setting.getByRole('textbox', { name: 'Address' }).fill(server.url)
  await setting.getByRole('button', { name: 'Use this server' }).click()
  await expect(setting.getByRole('status', { name: 'Server of the sessions' })).toContainText('another token')
  await setting.getByRole('textbox', { name: /File with its token/ }).fill(server.tokenFile)
  await setting.getByRole('button', { name: 'Use this server' }).click()
  await expect(setting.getByRole('status', { name: 'Server of the sessions' })).toContainText('connected')
  await expect(page.getByRole('contentinfo')).toContainText('sessions: Codex app server 0.171.0')
  expect(await violations(page)).toEqual([])

  // Start, a turn, and what it asks: here and in the Inbox, one answer.
  await sessions.start(home.workplace, '[[hello]] there')
  await expect(sessions.transcript()).toContainText('Hello from the other house.')
  await sessions.say('[[work]] on it')
  await expect(sessions.transcript().getByRole('article', { name: /rm -rf gone/ })).toBeVisible()
  expect(existsSync(join(home.workplace, 'gone'))).toBe(true)
  await new Inbox(page).allow('rm -rf gone')
  await new Inbox(page).allow('made.txt')
  await sessions.choose('[[hello]] there')
  await expect(sessions.transcript()).toContainText('It is done.')
  expect(existsSync(join(home.workplace, 'gone'))).toBe(false)
  expect(readFileSync(join(home.workplace, 'made.txt'), 'utf8')).toBe('made\n')
  await expect(sessions.transcript().locator('summary', { hasText: 'rm -rf gone' })).toBeVisible()

  await sessions.say('[[hang]] on')
  await page.getByRole('button', { name: 'Interrupt' }).click()
  await expect(sessions.state()).toContainText('Nothing is running')

  // The link is lost with a question open: nothing is allowed, the question is withdrawn, both pages say so.
  await sessions.say('[[wait]] for me')
  await expect(sessions.transcript().getByRole('article', { name: /rm -rf kept/ })).toBeVisible()
  await server.kill()
  await sessions.open()
  await expect(page.getByRole('status', { name: 'Server of the sessions' })).toContainText('not connected')
  await new Inbox(page).open()
  await expect(new Inbox(page).ended('rm -rf kept')).toContainText('Withdrawn')
  expect(existsSync(join(home.workplace, 'kept'))).toBe(true)

  // It comes back by itself, and the session is in its list.
  await server.start()
  await sessions.open()
  await expect(page.getByRole('status', { name: 'Server of the sessions' })).toContainText(', connected')
  await sessions.choose('[[hello]] there')
  await expect(sessions.transcript()).toContainText('It is done.')
  await sessions.say('[[hello]] again')
  await expect(sessions.transcript().getByText('Hello from the other house.')).toHaveCount(2)
})

test('a codex app-server that Gatehouse starts itself', async ({ home, launchApp }) => {
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(join(home.dataDir, 'settings.json'), JSON.stringify({ externalAppServer: { command: server.command } }))
  const page = await (await launchApp()).page()
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)
  await sessions.start(home.workplace, '[[hello]] there')
  await expect(sessions.transcript()).toContainText('Hello from the other house.')
  await expect(page.getByRole('contentinfo')).toContainText('sessions: Codex app server 0.171.0')
})
