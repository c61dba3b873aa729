import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScriptedModel } from '../../sidecars/testing/scripted-model.ts'
import { violations } from '../fixtures/axe.ts'
import { writeLongSession } from '../fixtures/long-session.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Sessions } from '../pages/sessions.ts'
import { StatusBar } from '../pages/status-bar.ts'

const PATCH = `*** Begin Patch
*** Update File: first.txt
@@
-one
+uno
*** Update File: second.txt
@@
-two
+due
*** End Patch
`

let model: ScriptedModel
test.beforeEach(async () => {
  model = await ScriptedModel.start({
    work: [
      [{ say: 'First I **clean up**.' }, { call: 'exec_command', args: { cmd: 'rm -rf gone && echo cleaned' } }],
      [{ custom: 'apply_patch', input: PATCH }],
      [{ say: 'Both files are changed.' }],
    ],
    slow: [[{ call: 'exec_command', args: { cmd: 'sleep 3' } }], [{ say: 'Nobody said anything.' }]],
    steer: [[{ say: 'I heard you.' }]],
    hang: [[{ hang: true }]],
    again: [[{ say: 'Still here.' }]],
    ask: [
      [
        {
          call: 'request_user_input',
          args: {
            questions: [
              {
                id: 'db',
                header: 'Store',
                question: 'Which database?',
                options: [{ label: 'SQLite', description: 'one file' }],
              },
              { id: 'why', header: '', question: 'And why?' },
            ],
          },
        },
      ],
      [{ say: 'So be it.' }],
    ],
    part: [[{ say: 'Two places use it.' }]],
    delegate: (_, outputs) => {
      const namespace = 'multi_agent_v1'
      if (outputs.length === 0) return [{ call: 'spawn_agent', args: { message: '[[part]] Find its uses' }, namespace }]
      if (outputs.length > 1) return [{ say: 'Both are known now.' }]
      const { agent_id } = JSON.parse(outputs[0]!) as { agent_id: string }
      return [{ call: 'wait_agent', args: { targets: [agent_id] }, namespace }]
    },
    long: [
      [{ call: 'exec_command', args: { cmd: 'echo begun; sleep 60', yield_time_ms: 250 } }],
      [{ say: 'It goes on by itself.' }],
    ],
  })
})
test.afterEach(() => model.close())

test('a session runs a command that the Inbox allows, edits two files, is steered, interrupted, resumed after a restart and forked', async ({
  home,
  launchApp,
}) => {
  for (const [name, text] of [
    ['first.txt', 'one\n'],
    ['second.txt', 'two\n'],
  ] as const)
    writeFileSync(join(home.workplace, name), text)
  mkdirSync(join(home.workplace, 'gone'))
  const app = await launchApp()
  const page = await app.page()
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)
  await sessions.addProvider('scripted', model.baseUrl)
  await sessions.start(home.workplace, '[[work]] on it')

  // The same request, here and in the Inbox: one answer.
  await expect(sessions.transcript().getByRole('article', { name: /rm -rf gone/ })).toBeVisible()
  expect(existsSync(join(home.workplace, 'gone'))).toBe(true)
  await new Inbox(page).allow('rm -rf gone')
  await sessions.choose('[[work]] on it')
  await expect(sessions.transcript()).toContainText('Both files are changed.')
  expect(existsSync(join(home.workplace, 'gone'))).toBe(false)
  expect(readFileSync(join(home.workplace, 'first.txt'), 'utf8')).toBe('uno\n')
  expect(readFileSync(join(home.workplace, 'second.txt'), 'utf8')).toBe('due\n')
  await sessions.transcript().locator('summary', { hasText: 'rm -rf gone' }).click()
  await expect(sessions.transcript()).toContainText('cleaned')
  await sessions.transcript().locator('summary', { hasText: 'second.txt' }).click()
  await expect(sessions.transcript().getByRole('group', { name: /Changes in .*second.txt/ })).toContainText('+due')
  expect(await violations(page)).toEqual([])

  await sessions.say('[[slow]] please')
  await expect(sessions.state()).toContainText('adds your words to it')
  await sessions.say('[[steer]] this way')
  await expect(sessions.transcript()).toContainText('I heard you.')
  await expect(sessions.state()).toContainText('Nothing is running')

  await sessions.say('[[hang]] for ever')
  await page.getByRole('button', { name: 'Interrupt' }).click()
  await expect(sessions.state()).toContainText('Nothing is running')
  await app.close()

  const next = await (await launchApp()).page()
  await new StatusBar(next).waitForHealth()
  const resumed = new Sessions(next)
  await resumed.choose('[[work]] on it')
  await expect(resumed.transcript()).toContainText('First I clean up.')
  await expect(resumed.transcript()).toContainText('I heard you.')
  await resumed.say('[[again]] now')
  await expect(resumed.transcript()).toContainText('Still here.')
  expect(model.lastInput).toContain('Both files are changed.')

  const before = next.url()
  await next.getByRole('button', { name: 'Fork' }).click()
  await expect(next).not.toHaveURL(before)
  await expect(resumed.transcript()).toContainText('Still here.')
  await resumed.say('[[steer]] in the fork')
  await expect(resumed.transcript()).toContainText('I heard you.')
})

test('by keyboard alone a session is started, its command denied with words, and its shell used', async ({
  home,
  page,
}) => {
  mkdirSync(join(home.workplace, 'gone'))
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(
    join(home.dataDir, 'config.toml'),
    `model_provider = "scripted"\nmodel = "m"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model.baseUrl}"\n`,
  )
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)
  await sessions.open()
  await page.keyboard.press('Control+n')
  const dialog = page.getByRole('dialog')
  await expect(dialog).toBeVisible()
  const reach = async (target: ReturnType<typeof page.locator>) =>
    expect(async () => {
      await page.keyboard.press('Tab')
      await expect(target).toBeFocused({ timeout: 100 })
    }).toPass()
  await reach(dialog.getByRole('textbox', { name: 'Folder' }))
  await page.keyboard.press('Control+a')
  await page.keyboard.type(home.workplace)
  await reach(dialog.getByRole('textbox', { name: 'First words' }))
  await page.keyboard.type('[[work]] by keys')
  expect(await violations(page)).toEqual([])
  await reach(dialog.getByRole('button', { name: 'Start session' }))
  await page.keyboard.press('Enter')
  await expect(sessions.transcript()).toContainText('[[work]] by keys')
  await new Inbox(page).deny('rm -rf gone', 'keep that folder')
  await expect.poll(() => model.lastInput).toContain('keep that folder')
  expect(existsSync(join(home.workplace, 'gone'))).toBe(true)

  await page.keyboard.press('Control+2')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await reach(sessions.message())
  await page.keyboard.type('! echo from my shell')
  await expect(sessions.state()).toContainText('with your own rights')
  await page.keyboard.press('Enter')
  await expect(sessions.transcript().locator('summary', { hasText: 'echo from my shell' })).toBeVisible()
})

test('questions are answered, words queued, a running command followed to its process, and a turn taken back', async ({
  home,
  page,
}) => {
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(
    join(home.dataDir, 'config.toml'),
    `model_provider = "scripted"\nmodel = "m"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model.baseUrl}"\n`,
  )
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)
  await sessions.start(home.workplace, '[[again]] hello')
  await expect(sessions.transcript()).toContainText('Still here.')

  // Settings change between turns; planning first lets it ask.
  await sessions.change('plans first', async (dialog) => {
    await dialog.getByRole('checkbox', { name: /Plans first/ }).check()
    await dialog.getByRole('combobox', { name: 'Model' }).fill('another-model')
    await dialog.getByRole('radio', { name: /may write in its folder/ }).check()
    expect(await violations(page)).toEqual([])
  })
  await sessions.say('[[ask]] me')
  const question = sessions.transcript().getByRole('article', { name: /asks you Which database/ })
  await question.getByRole('radio', { name: /SQLite/ }).check()
  await question.getByRole('textbox', { name: 'And why?' }).fill('it is one file')
  expect(await violations(page)).toEqual([])
  // The same question in the Inbox, answered here: one answer.
  await question.getByRole('button', { name: 'Send answer' }).click()
  await expect(sessions.transcript()).toContainText('So be it.')
  expect(model.lastInput).toContain('it is one file')
  expect(model.requests.at(-1)?.body.model).toBe('another-model')
  await sessions.change('may write in its folder', (dialog) =>
    dialog.getByRole('checkbox', { name: /Plans first/ }).uncheck(),
  )

  // What is queued waits for the turn, is held back by an interruption, and goes on with a press.
  await sessions.say('[[hang]] on')
  await sessions.queue('[[steer]] after that')
  await expect(page.getByRole('list', { name: 'Queue' })).toContainText('after that')
  await page.getByRole('button', { name: 'Interrupt' }).click()
  await page.getByRole('button', { name: 'Send now' }).click()
  await expect(sessions.transcript()).toContainText('I heard you.')

  // A command that outlives its turn is there when the session is opened again, and leads to its process.
  await sessions.say('[[long]] work')
  await expect(sessions.transcript()).toContainText('It goes on by itself.')
  await sessions.open()
  await page.keyboard.press('Control+1')
  await sessions.choose('[[again]] hello')
  await sessions
    .transcript()
    .getByRole('link', { name: /Live output of echo begun/ })
    .click()
  await expect(page.getByRole('heading', { name: /echo begun/, level: 1 })).toBeVisible()
  await expect(page.getByRole('group', { name: 'Terminal' })).toContainText('begun')
  await page.getByRole('button', { name: /Stop process/ }).click()
  await sessions.choose('[[again]] hello')
  await expect(sessions.transcript().locator('summary', { hasText: 'echo begun' })).toContainText('exit 143')

  // Words are found where they stand, and a turn leaves with all that follows it.
  await page.keyboard.press('Control+f')
  await page.getByRole('searchbox', { name: 'Find in this session' }).fill('so be it')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('status', { name: 'Found' })).toHaveText('1 of 1 place')
  await page.keyboard.press('Escape')
  const turn = sessions.transcript().getByRole('article', { name: 'You' }).filter({ hasText: '[[ask]] me' })
  await turn.getByRole('button', { name: 'Take back from here' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click()
  await expect(sessions.transcript()).not.toContainText('So be it.')
  await expect(sessions.transcript()).toContainText('Still here.')
  await sessions.say('[[steer]] anew')
  await expect(sessions.transcript()).toContainText('I heard you.')
  expect(model.lastInput).not.toContain('it is one file')
})

test('E49 a session of 1500 items is opened at its end, read back to its start and searched, with few of them held', async ({
  home,
  launchApp,
}) => {
  const items = 1_500
  writeLongSession(home, { items, needleAt: 750 })
  const page = await (await launchApp()).page()
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)
  await sessions.choose('Ask 0')
  const rows = sessions.transcript().locator('[data-row]')
  const row = (at: number) => sessions.transcript().locator(`[data-row="item-${at}"]`)
  await expect(row(items - 1)).toBeInViewport()
  // Page by page as a reader would; what is read stays where it is while older pages come in above it.
  await expect(async () => {
    await sessions.transcript().press('Home')
    await expect(row(items - 460)).toBeAttached({ timeout: 100 })
  }).toPass({ intervals: [50] })
  expect(await rows.count()).toBeLessThanOrEqual(360)
  await expect(page.getByRole('button', { name: 'To the end' })).toBeVisible()
  await page.keyboard.press('Control+Home')
  await expect(row(0)).toBeInViewport()
  await page.keyboard.press('Control+f')
  await page.getByRole('searchbox', { name: 'Find in this session' }).fill('needle')
  await page.keyboard.press('Enter')
  await expect(row(750)).toBeInViewport()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'To the end' }).click()
  await expect(row(items - 1)).toBeInViewport()
  expect(await rows.count()).toBeLessThanOrEqual(360)
})

test('E50 a command that floods the session is stopped by one press; what came is kept and the window goes on', async ({
  home,
  page,
}) => {
  mkdirSync(home.dataDir, { recursive: true })
  writeFileSync(
    join(home.dataDir, 'config.toml'),
    `model_provider = "scripted"\nmodel = "m"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model.baseUrl}"\n`,
  )
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)
  await sessions.start(home.workplace, '[[again]] hello')
  await expect(sessions.transcript()).toContainText('Still here.')
  await sessions.say(`! yes ${'x'.repeat(200)}`)
  const row = sessions.transcript().locator('summary', { hasText: 'yes xxx' })
  await expect(row).toContainText('running')
  await row.click()
  await expect(sessions.transcript().getByRole('group', { name: /Output of yes/ })).toContainText('xxxx')
  await page.getByRole('button', { name: 'Interrupt' }).click()
  await expect(sessions.state()).toContainText('Nothing is running')
  await expect(row).not.toContainText('running')
  await expect(sessions.transcript().getByRole('group', { name: /Output of yes/ })).toContainText('xxxx')
  await expect(page.getByRole('contentinfo')).toContainText('0 processes')
  await sessions.say('[[steer]] now')
  await expect(sessions.transcript()).toContainText('I heard you.')
  expect(model.lastInput).toContain('user_shell_command')
})

test('an agent that a session starts has a session of its own; at twice the size all of it is in the window', async ({
  page,
  app,
  home,
}) => {
  await new StatusBar(page).waitForHealth()
  const sessions = new Sessions(page)
  await sessions.addProvider('scripted', model.baseUrl)
  await sessions.start(home.workplace, '[[delegate]] rename it')
  await expect(sessions.transcript()).toContainText('Both are known now.')
  const zoom = (factor: number) =>
    app.electron.evaluate(
      ({ BrowserWindow }, to) => BrowserWindow.getAllWindows()[0]!.webContents.setZoomFactor(to),
      factor,
    )
  const facts = page.locator('.thread-facts')
  for (const factor of [2, 4]) {
    await zoom(factor)
    await expect.poll(() => page.evaluate(() => innerHeight)).toBeLessThan(900 / factor)
    expect(await facts.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0)
  }
  await zoom(1)
  await page
    .getByRole('link', { name: /^Session of agent/ })
    .first()
    .click()
  await expect(sessions.transcript()).toContainText('Two places use it.')
  await expect(page.getByRole('heading', { name: 'Alder: [[part]] Find its uses' })).toBeVisible()
  expect(await violations(page)).toEqual([])
})
