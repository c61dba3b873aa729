import { expect, type Locator, type Page } from '@playwright/test'

/** The table of connections. */
export class Network {
  constructor(private readonly page: Page) {}

  async open(): Promise<void> {
    await this.page.keyboard.press('Control+4')
    await expect(this.page.getByRole('heading', { name: 'Network', level: 1 })).toBeVisible()
  }

  /** Rows of connections to `address` (`host:port`), newest first. */
  rows(address: string): Locator {
    const host = this.page.getByRole('gridcell', { name: new RegExp(`^${address.replaceAll('.', '\\.')}(?: |$)`) })
    return this.page.getByRole('grid', { name: 'Connections' }).getByRole('row').filter({ has: host })
  }
}
