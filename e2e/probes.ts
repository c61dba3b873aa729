import type { ElectronApplication } from '@playwright/test'

/** What the desktop was told so far. */
export interface DesktopSeen {
  trayToolTip: string
  trayMenu: string[]
  badge: number
  notifications: { title: string; body: string }[]
  /** Dialogs with buttons, in the order in which they were shown. */
  questions: { message: string; detail: string; buttons: string[] }[]
  /** Handed to the browser. */
  openedAddresses: string[]
}
interface Probes extends DesktopSeen {
  trayClick: (() => void) | null
  clickNotification: (() => void) | null
}

export function desktopSeen(app: ElectronApplication): Promise<DesktopSeen> {
  return app.evaluate(() => {
    const {
      trayClick: _,
      clickNotification: __,
      ...seen
    } = (globalThis as unknown as { gatehouseProbes: Probes }).gatehouseProbes
    return seen
  })
}

/** Clicks the tray icon as a person would. */
export async function clickTray(app: ElectronApplication): Promise<void> {
  await app.evaluate(() => (globalThis as unknown as { gatehouseProbes: Probes }).gatehouseProbes.trayClick?.())
}

/** Clicks the last notification that was shown. */
export async function clickNotification(app: ElectronApplication): Promise<void> {
  await app.evaluate(() => (globalThis as unknown as { gatehouseProbes: Probes }).gatehouseProbes.clickNotification?.())
}
