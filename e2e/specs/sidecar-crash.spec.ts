import { factsOf } from '../fixtures/agent.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { SIDECAR_TITLES, StatusBar } from '../pages/status-bar.ts'

for (const title of SIDECAR_TITLES)
  test(`kill -9 of the ${title}: the window shows it, it comes back, the next command works`, async ({
    page,
    attachAgent,
  }) => {
    const status = new StatusBar(page)
    const inbox = new Inbox(page)
    await status.waitForHealth()
    const agent = await attachAgent()
    const answer = agent.run(['echo', 'was-pending']).catch((error: unknown) => error)
    await expect(inbox.card('was-pending')).toBeVisible()

    const before = await status.pidOf(title)
    // Down lasts a fraction of a second: watch for it before it happens.
    const seenDown = expect(status.dot(title)).not.toHaveAccessibleName(`${title}: ready`)
    process.kill(before, 'SIGKILL')
    await seenDown
    await status.waitForHealth()
    expect(await status.pidOf(title)).not.toBe(before)

    if (title === 'network proxy') {
      // It only grants the lease after the decision, so the question outlives it.
      await inbox.allow('was-pending')
      expect(factsOf((await answer) as never)).toMatchObject({ output: 'was-pending\n' })
    } else {
      await expect(inbox.card('was-pending')).toBeHidden()
      await expect(inbox.ended('was-pending')).toContainText('Withdrawn')
      await answer
    }

    const next = title === 'mcp server' ? await attachAgent() : agent
    const result = next.run(['echo', 'works-again'])
    await inbox.allow('works-again')
    expect(factsOf(await result)).toMatchObject({ output: 'works-again\n' })
  })

test('the card of a sidecar says what ended it and starts it again on request', async ({ page }) => {
  const status = new StatusBar(page)
  await status.waitForHealth()
  const before = await status.pidOf('network proxy')
  process.kill(before, 'SIGKILL')
  await expect.poll(() => status.pidOf('network proxy').catch(() => before)).not.toBe(before)
  await status.dot('network proxy').click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('was killed by SIGKILL')
  await dialog.getByRole('button', { name: 'Restart the network proxy' }).click()
  await expect(dialog).toContainText(/generation\s*3/)
  await page.keyboard.press('Escape')
  await status.waitForHealth()
})
