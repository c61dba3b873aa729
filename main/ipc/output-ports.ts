import { MessageChannelMain, type MessagePortMain } from 'electron'
import { OUTPUT_PORT_CHANNEL } from '../../preload/channels.ts'
import type { ChannelService } from './register-channels.ts'

/**
 * Hands a port to the exec server that runs now. Throws `unavailable` while none does.
 */
export type PostToExecServer = (message: unknown, port: MessagePortMain) => void

/**
 * `processes.attach`: one channel per view and process, one end to the exec server, the other to the
 * page. Output then flows between the two without passing through main. Either end closes it: the page
 * when the view goes, the exec server with its process.
 */
export function createAttachOutput(post: PostToExecServer): ChannelService<'processes.attach'> {
  return async ([processId, afterSeq, token], { contents }) => {
    const { port1, port2 } = new MessageChannelMain()
    try {
      post({ type: 'attachOutput', processId, afterSeq }, port1)
    } catch (error) {
      port1.close()
      port2.close()
      throw error
    }
    contents.postMessage(OUTPUT_PORT_CHANNEL, { processId, token }, [port2])
    return null
  }
}
