import { factsOf } from '../fixtures/agent.ts'
import { violations } from '../fixtures/axe.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Processes } from '../pages/processes.ts'
import { StatusBar } from '../pages/status-bar.ts'

const SECTIONS = ['Inbox', 'Sessions', 'Processes', 'Network', 'Agents', 'Rules', 'Settings']

for (const theme of ['dark', 'light'] as const)
  test(`no page has an accessibility fault that axe can find, ${theme}`, async ({ page, attachAgent }) => {
    await page.emulateMedia({ colorScheme: theme })
    await new StatusBar(page).waitForHealth()
    const agent = await attachAgent()
    const answer = agent.run('echo done && ls -la | head -3')
    await new Inbox(page).allow('echo done')
    await answer
    const waiting = agent.run(['git', 'push', '--force', 'origin', 'main'])
    await expect(new Inbox(page).card('git push')).toBeVisible()
    for (const [index, name] of SECTIONS.entries()) {
      await page.keyboard.press(`Control+${index + 1}`)
      await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible()
      expect(await violations(page), name).toEqual([])
    }
    await new Processes(page).open('echo done')
    expect(await violations(page), 'one process').toEqual([])
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('dialog')).toBeVisible()
    expect(await violations(page), 'palette').toEqual([])
    await page.keyboard.press('Escape')
    await new Inbox(page).deny('git push', 'no')
    await waiting
  })

test('everything on the way from a request to its output is reached by keyboard alone', async ({
  page,
  attachAgent,
}) => {
  await new StatusBar(page).waitForHealth()
  const agent = await attachAgent()
  const answer = agent.run('read name; echo "hello $name"', { stdin: true, yieldMs: 500 })
  await new Inbox(page).allow('read name')
  const { processId } = factsOf(await answer)
  await page.keyboard.press('Control+3')
  await expect(page.getByRole('heading', { name: 'Processes', level: 1 })).toBeVisible()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  const input = page.getByRole('textbox', { name: /input/i })
  await expect(async () => {
    await page.keyboard.press('Tab')
    await expect(input).toBeFocused({ timeout: 100 })
  }).toPass()
  await page.keyboard.type('gatekeeper')
  await page.keyboard.press('Enter')
  await expect(new Processes(page).terminal()).toContainText('hello gatekeeper')
  expect(factsOf(await agent.call('get_result', { processId }))).toMatchObject({ exitCode: 0 })
})

test('typing never answers a request', async ({ page, attachAgent }) => {
  await new StatusBar(page).waitForHealth()
  const agent = await attachAgent()
  const answer = agent.run(['echo', 'not yet'])
  const inbox = new Inbox(page)
  await inbox.focusNext('not yet')
  for (const key of ['a', 'y', 'd', 'n', 'Enter', 'Space', 'Delete', 'Backspace', 'Escape'])
    await page.keyboard.press(key)
  await expect(inbox.card('not yet')).toBeVisible()
  await page.keyboard.press('Control+1')
  // From outside the card the chord does nothing either.
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).click()
  await page.keyboard.press('Control+Enter')
  await expect(inbox.card('not yet')).toBeVisible()
  await inbox.allow('not yet')
  await answer
})
