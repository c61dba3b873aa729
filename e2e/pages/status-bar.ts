import { expect, type Locator, type Page } from '@playwright/test'

export type SidecarTitle = 'exec server' | 'mcp server' | 'network proxy'
export const SIDECAR_TITLES: readonly SidecarTitle[] = ['exec server', 'mcp server', 'network proxy']

/** The line at the bottom: health of the sidecars and the counts. */
export class StatusBar {
  constructor(private readonly page: Page) {}

  dot(title: SidecarTitle): Locator {
    return this.page
      .getByRole('contentinfo', { name: 'Status' })
      .getByRole('button', { name: new RegExp(`^${title}:`) })
  }

  /** Waits until all three sidecars are ready. */
  async waitForHealth(): Promise<void> {
    for (const title of SIDECAR_TITLES) await expect(this.dot(title)).toHaveAccessibleName(`${title}: ready`)
  }

  /** The process id that a sidecar's own card names. */
  async pidOf(title: SidecarTitle): Promise<number> {
    await this.dot(title).click()
    const dialog = this.page.getByRole('dialog')
    const text = (await dialog.textContent()) ?? ''
    await this.page.keyboard.press('Escape')
    await expect(dialog).toBeHidden()
    const pid = /pid (\d+)/.exec(text)?.[1]
    if (pid === undefined) throw new Error(`no pid in the card of the ${title}: ${text}`)
    return Number(pid)
  }
}
