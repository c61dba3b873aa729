import type { BrowserWindow } from 'electron'
import type { FeedBatch } from '../../preload/api.ts'

/**
 * Sends every batch of the feed to one window for as long as it lives. The page subscribes before it
 * asks for the snapshot and drops what the snapshot already holds, so nothing is lost on a reload.
 */
export function forwardFeed(
  window: BrowserWindow,
  subscribe: (listener: (batch: FeedBatch) => void) => () => void,
): void {
  const unsubscribe = subscribe((batch) => {
    // Between a crash of the page and its reload there is nobody to send to.
    if (!window.isDestroyed() && !window.webContents.isCrashed()) window.webContents.send('feed.batch', batch)
  })
  window.once('closed', unsubscribe)
}
