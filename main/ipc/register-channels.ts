import { ipcMain, type BrowserWindow, type WebContents } from 'electron'
import type { InvokeChannel, Invokes, Outcome } from '../../preload/api.ts'
import { decode } from '../../sidecars/protocol/decode.ts'
import type { Refusals } from '../desktop/refusals.ts'
import { failureOutcome } from './failure-outcome.ts'
import { invokeArguments } from './invoke-arguments.ts'
import { isTrustedSender } from './trusted-sender.ts'

export interface ChannelContext {
  contents: WebContents
  /** The window the call came from; undefined when it has closed since. */
  window: BrowserWindow | undefined
}
/** The work behind a channel. Arguments are already checked; a throw becomes a failed Outcome. */
export type ChannelService<C extends InvokeChannel> = (
  args: Invokes[C]['args'],
  context: ChannelContext,
) => Promise<Invokes[C]['result']>
export type ChannelServices = { [C in InvokeChannel]: ChannelService<C> }

export interface ChannelOptions {
  services: ChannelServices
  refusals: Refusals
  windowOf(contents: WebContents): BrowserWindow | undefined
}

/** Opens every channel of the contract behind the sender check and the argument check. */
export function registerChannels({ services, refusals, windowOf }: ChannelOptions): void {
  for (const channel of Object.keys(invokeArguments) as InvokeChannel[])
    ipcMain.handle(channel, async (event, ...given: unknown[]): Promise<Outcome<unknown>> => {
      // First and before any await: the frame may be gone or elsewhere a moment later.
      if (!isTrustedSender(event)) {
        refusals.add('foreign-sender', `${channel} from ${event.senderFrame?.url ?? 'a frame that is gone'}`)
        return { ok: false, code: 'forbidden', message: 'Only the Gatehouse window may ask for this.' }
      }
      const context = { contents: event.sender, window: windowOf(event.sender) }
      try {
        return { ok: true, value: await serve(channel, given, context) }
      } catch (error) {
        const failure = failureOutcome(error, channel)
        if (failure.code === 'invalidParams') refusals.add('bad-arguments', `${channel}: ${failure.message}`)
        return failure
      }
    })

  function serve<C extends InvokeChannel>(channel: C, given: unknown[], context: ChannelContext) {
    const args = decode<Invokes[C]['args']>(invokeArguments[channel], given, 'arguments')
    return services[channel](args, context)
  }
}
