import { expect, type Locator, type Page } from '@playwright/test'

/** The Sessions page, a session of Gatehouse's own, and the provider it needs. */
export class Sessions {
  constructor(private readonly page: Page) {}

  /** Adds a model server in Settings after it has answered, and uses it. */
  async addProvider(name: string, baseUrl: string): Promise<void> {
    const { page } = this
    await page.keyboard.press('Control+7')
    await page.getByText('Add a provider', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
    await page.getByRole('textbox', { name: 'Base URL' }).fill(baseUrl)
    await page.getByRole('button', { name: 'Test connection' }).click()
    await page.getByRole('combobox', { name: 'Model for new sessions' }).selectOption('scripted-model')
    await page.getByRole('button', { name: 'Add and use' }).click()
    await expect(page.getByRole('radio', { name, exact: true })).toBeChecked()
  }

  async open(): Promise<void> {
    await this.page.keyboard.press('Control+2')
    await expect(this.page.getByRole('heading', { name: 'Sessions', level: 1 })).toBeVisible()
  }

  async start(folder: string, words: string): Promise<void> {
    await this.open()
    await this.page.getByRole('button', { name: 'New session' }).click()
    const dialog = this.page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Folder' }).fill(folder)
    await dialog.getByRole('textbox', { name: 'First words' }).fill(words)
    await dialog.getByRole('button', { name: 'Start session' }).click()
    await expect(this.transcript()).toContainText(words)
  }

  /** Opens a session from the list by a part of its title. */
  async choose(title: string): Promise<void> {
    await this.open()
    await this.page
      .getByRole('region', { name: 'Sessions' })
      .getByRole('link')
      .filter({ hasText: title })
      .first()
      .click()
    await expect(this.transcript()).toBeVisible()
  }

  transcript(): Locator {
    return this.page.getByRole('log', { name: 'Transcript' })
  }
  message(): Locator {
    return this.page.getByRole('textbox', { name: 'Message' })
  }
  /** What Enter would do now. */
  state(): Locator {
    return this.page.getByRole('status', { name: 'What Enter does' })
  }

  async say(words: string): Promise<void> {
    await this.message().fill(words)
    await this.message().press('Enter')
    await expect(this.message()).toHaveValue('')
  }

  async queue(words: string): Promise<void> {
    await this.message().fill(words)
    await this.message().press('Control+Enter')
    await expect(this.message()).toHaveValue('')
  }

  /** Changes what the session runs with; `expected` is then said to be in force. */
  async change(expected: string, fill: (dialog: Locator) => Promise<void>): Promise<void> {
    const inForce = this.page.locator('.settings-in-force')
    await inForce.click()
    const dialog = this.page.getByRole('dialog', { name: 'What this session runs with' })
    await fill(dialog)
    await dialog.getByRole('button', { name: 'Use these' }).click()
    await expect(dialog).toBeHidden()
    await expect(inForce).toContainText(expected)
  }
}
