import { Notification } from 'electron'
import { describeRequest } from './describe-request.ts'
import type { PendingApprovals } from './pending-approvals.ts'

export interface NotificationOptions {
  pending: PendingApprovals
  /** The owner's setting, asked at each request. */
  isWanted(): boolean
  /** A window in front shows the card itself. */
  isWindowInFront(): boolean
  /** The owner clicked: show this request. */
  open(requestId: string): void
}

/**
 * Tells the owner that something waits, and only that. At most one notification stands at a time; it
 * names the newest request and how many wait, and goes when nothing waits any more.
 */
export class RequestNotifications {
  private shown: Notification | undefined

  constructor(private readonly options: NotificationOptions) {
    options.pending.onChange(({ began }) => {
      const newest = began.at(-1)
      if (options.pending.count === 0) this.clear()
      else if (newest && options.isWanted() && !options.isWindowInFront()) this.show(newest.id, describeRequest(newest))
    })
  }

  /** Takes away what is shown, e.g. because the window came to the front. */
  clear(): void {
    this.shown?.close()
    this.shown = undefined
  }

  private show(requestId: string, body: string): void {
    this.clear()
    if (!Notification.isSupported()) return
    const { count } = this.options.pending
    const title = count === 1 ? 'A request waits for you' : `${count} requests wait for you`
    const notification = new Notification({ title, body, urgency: 'normal' })
    notification.on('click', () => this.options.open(requestId))
    this.shown = notification
    notification.show()
  }
}
