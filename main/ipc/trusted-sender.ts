import type { IpcMainInvokeEvent } from 'electron'
import { isOurs } from '../desktop/page-origin.ts'

/** The two facts about a sender that matter, so that the check can be tested without Electron. */
export interface SenderFacts {
  senderFrame: { url: string } | null
  sender: { mainFrame: unknown }
}

/**
 * Whether a message comes from the top frame of our own page. A frame that is already gone (null since
 * Electron 33) is a stranger. Must be called before the first await: the frame may navigate meanwhile.
 */
export function isTrustedSender(event: SenderFacts | IpcMainInvokeEvent): boolean {
  const frame = event.senderFrame
  return frame !== null && frame !== undefined && frame === event.sender.mainFrame && isOurs(frame.url)
}
