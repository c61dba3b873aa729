import type { ElectronApplication } from '@playwright/test'

/** What the desktop was told so far. */
export interface DesktopSeen {
  trayToolTip: string
  trayMenu: string[]
  badge: number
  notifications: { title: string; body: string }[]
}
interface Probes extends DesktopSeen {
  trayClick: (() => void) | null
  clickNotification: (() => void) | null
}

export function desktopSeen(app: ElectronApplication): Promise<DesktopSeen> {
  return app.evaluate(() => {
    const { trayToolTip, trayMenu, badge, notifications } = (globalThis as unknown as { gatehouseProbes: Probes })
      .gatehouseProbes
    return { trayToolTip, trayMenu, badge, notifications }
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
