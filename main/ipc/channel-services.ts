import type { InvokeChannel, Invokes } from '../../preload/api.ts'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import { intentArguments, type HostChannel } from '../intent-arguments.ts'
import type { DesktopServices } from './desktop-services.ts'
import type { ChannelServices } from './register-channels.ts'

/** The host's one entrance for what a person asks. */
export interface HostEntrance {
  invoke<C extends HostChannel>(channel: C, args: Invokes[C]['args'], actor: Actor): Promise<Invokes[C]['result']>
}

export const OWNER_AT_WINDOW: Actor = { kind: 'person', via: 'window' }

/** Every channel of the window: the desktop's own, and the host's asked in the name of the owner. */
export function createChannelServices(host: HostEntrance, desktop: DesktopServices): ChannelServices {
  const services: Partial<Record<InvokeChannel, unknown>> = { ...desktop }
  for (const channel of Object.keys(intentArguments) as HostChannel[])
    services[channel] = (args: never) => host.invoke(channel, args, OWNER_AT_WINDOW)
  return services as ChannelServices
}
