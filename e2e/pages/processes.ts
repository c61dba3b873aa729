import { expect, type Locator, type Page } from '@playwright/test'

/** The table of processes and the page of one. */
export class Processes {
  constructor(private readonly page: Page) {}

  row(text: string): Locator {
    return this.page.getByRole('row').filter({ hasText: text })
  }

  /** Opens the newest process whose command contains `text`. */
  async open(text: string): Promise<void> {
    await this.page.keyboard.press('Control+3')
    await this.row(text).first().click()
    await this.page.keyboard.press('Enter')
    await expect(this.terminal()).toBeVisible()
  }

  terminal(): Locator {
    return this.page.locator('.xterm-rows')
  }
}
