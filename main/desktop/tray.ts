import { Menu, Tray, type MenuItemConstructorOptions } from 'electron'
import { describeRequest } from './describe-request.ts'
import { gateIcon } from './gate-icon.ts'
import type { PendingApprovals } from './pending-approvals.ts'

/** More would not fit a menu; the window shows all. */
const LISTED = 5

export interface TrayActions {
  /** Shows the window, at a request when one is named. */
  open(requestId?: string): void
  quit(): void
}

/** The icon that stays when the window is closed: says how many requests wait and leads to them. */
export class GateTray {
  private readonly tray: Tray

  constructor(
    private readonly pending: PendingApprovals,
    private readonly actions: TrayActions,
  ) {
    this.tray = new Tray(gateIcon(false))
    this.tray.on('click', () => actions.open(pending.list()[0]?.id))
    pending.onChange(() => this.update())
    this.update()
  }

  dispose(): void {
    this.tray.destroy()
  }

  private update(): void {
    const { count } = this.pending
    const summary = summaryOf(count)
    this.tray.setImage(gateIcon(count > 0))
    this.tray.setToolTip(`Gatehouse: ${summary}`)
    // macOS only; elsewhere the picture and the tooltip carry it.
    this.tray.setTitle(count === 0 ? '' : String(count))
    this.tray.setContextMenu(Menu.buildFromTemplate(this.menu(summary)))
  }

  private menu(summary: string): MenuItemConstructorOptions[] {
    const requests = this.pending
      .list()
      .slice(0, LISTED)
      .map((approval) => ({
        label: describeRequest(approval).replaceAll('&', '&&'),
        click: () => this.actions.open(approval.id),
      }))
    return [
      { label: summary, enabled: false },
      ...requests,
      { type: 'separator' },
      { label: 'Open Gatehouse', click: () => this.actions.open() },
      { label: 'Quit Gatehouse', click: () => this.actions.quit() },
    ]
  }
}

function summaryOf(count: number): string {
  if (count === 0) return 'nothing waits for you'
  return count === 1 ? '1 request waits for you' : `${count} requests wait for you`
}
