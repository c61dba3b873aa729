import type { BrowserWindow } from 'electron'
import type { EventChannel, Events } from '../../preload/api.ts'

/**
 * Sends every payload of one event to one window for as long as it lives. The page subscribes to the feed
 * before it asks for the snapshot and drops what the snapshot already holds, so nothing is lost on a reload.
 */
export function forwardEvent<E extends EventChannel>(
  window: BrowserWindow,
  event: E,
  subscribe: (listener: (payload: Events[E]) => void) => () => void,
): void {
  const unsubscribe = subscribe((payload) => {
    // Between a crash of the page and its reload there is nobody to send to.
    if (!window.isDestroyed() && !window.webContents.isCrashed()) window.webContents.send(event, payload)
  })
  window.once('closed', unsubscribe)
}
