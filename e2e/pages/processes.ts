import { expect, type Locator, type Page } from '@playwright/test'

/** The table of processes and the page of one. */
export class Processes {
  constructor(private readonly page: Page) {}

  /** Rows whose command contains `text`: other processes of a session may carry it as their session's title. */
  row(text: string): Locator {
    const command = this.page.locator('[role="gridcell"]:nth-child(2)', { hasText: text })
    return this.page.getByRole('grid', { name: 'Processes' }).getByRole('row').filter({ has: command })
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
