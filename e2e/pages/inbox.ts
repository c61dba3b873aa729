import { expect, type Locator, type Page } from '@playwright/test'

/** The Inbox as a person with a keyboard uses it. */
export class Inbox {
  constructor(private readonly page: Page) {}

  /** The card of a waiting request whose text contains `text`. */
  card(text: string): Locator {
    return this.page.getByRole('article').filter({ hasText: text })
  }

  /** The row of a request that has ended, here or in the history below the queue. */
  ended(text: string): Locator {
    return this.page.getByRole('region', { name: 'Earlier' }).getByRole('listitem').filter({ hasText: text })
  }

  async open(): Promise<void> {
    await this.page.keyboard.press('Control+1')
    await expect(this.page.getByRole('heading', { name: 'Inbox', level: 1 })).toBeVisible()
  }

  /** Goes to a waiting request with the key that works on every page, and waits until a press is taken as meant. */
  async focusNext(text: string): Promise<Locator> {
    const card = this.card(text)
    await expect(async () => {
      await this.page.keyboard.press('F8')
      await expect(card).toBeFocused({ timeout: 500 })
    }).toPass()
    await expect(card.getByRole('button', { name: /^Allow/ })).toBeEnabled()
    return card
  }

  /** Allows by keyboard alone. */
  async allow(text: string): Promise<void> {
    const card = await this.chosen(await this.focusNext(text))
    await this.page.keyboard.press('Control+Enter')
    await expect(card).toBeHidden()
  }

  /** The very card, whatever else with the same words comes. */
  private async chosen(card: Locator): Promise<Locator> {
    return this.page.locator(`[data-request="${await card.getAttribute('data-request')}"]`)
  }

  /** Allows this and everything like it until the session ends. */
  async allowForSession(text: string): Promise<void> {
    const card = await this.chosen(await this.focusNext(text))
    await card.getByRole('radio', { name: 'Session' }).check()
    await card.getByRole('button', { name: 'Allow for session' }).click()
    // Nothing moves under a pointer: what is over leaves when the pointer does.
    await this.page.mouse.move(0, 0)
    await expect(card).toBeHidden()
  }

  /** Denies by keyboard alone, with words for the agent. */
  async deny(text: string, words: string): Promise<void> {
    const card = await this.chosen(await this.focusNext(text))
    await this.page.keyboard.press('Control+Shift+Backspace')
    await expect(card.getByRole('textbox', { name: 'Reason for the agent' })).toBeFocused()
    await this.page.keyboard.type(words)
    await this.page.keyboard.press('Control+Enter')
    await expect(card).toBeHidden()
  }
}
