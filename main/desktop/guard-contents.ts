import type { Session, WebContents } from 'electron'
import { isOurs } from './page-origin.ts'
import type { Refusals } from './refusals.ts'

/** Schemes that stay inside the process: developer tools, and what the page made itself. */
const INTERNAL = new Set(['devtools:', 'blob:', 'data:'])

/** Keeps one page where it is: no other address, no window, no embedded page, no dropped file. */
export function guardContents(contents: WebContents, refusals: Refusals): void {
  const refuseForeign = (event: { preventDefault(): void }, address: string) => {
    if (isOurs(address)) return
    event.preventDefault()
    refusals.add('navigation', address)
  }
  contents.on('will-navigate', (event) => refuseForeign(event, event.url))
  contents.on('will-redirect', (event) => refuseForeign(event, event.url))
  contents.on('will-frame-navigate', (event) => refuseForeign(event, event.url))
  contents.setWindowOpenHandler(({ url }) => {
    refusals.add('new-window', url)
    return { action: 'deny' }
  })
  contents.on('will-attach-webview', (event) => {
    event.preventDefault()
    refusals.add('webview', contents.getURL())
  })
}

/** Closes the session's own doors: permissions, devices, downloads, and requests to anywhere but us. */
export function guardSession(session: Session, refusals: Refusals): void {
  session.setPermissionRequestHandler((_contents, permission, answer) => {
    refusals.add('permission', permission)
    answer(false)
  })
  // Writing text to the clipboard is what a copy key does; everything else is a no without a question.
  session.setPermissionCheckHandler((_contents, permission) => permission === 'clipboard-sanitized-write')
  session.setDevicePermissionHandler(() => false)
  session.on('will-download', (event, item) => {
    event.preventDefault()
    refusals.add('download', item.getURL())
  })
  session.webRequest.onBeforeRequest((details, answer) => {
    const ours = isOurs(details.url) || INTERNAL.has(new URL(details.url).protocol)
    if (!ours) refusals.add('request', details.url)
    answer({ cancel: !ours })
  })
}
