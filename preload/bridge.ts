/**
 * What the page gets, free of Electron so that it can be tested: known names only, no event objects,
 * and subscriptions that end when their own function is called.
 */
import type { GatehouseApi, Outcome } from './api.ts'
import { isEventChannel, isInvokeChannel, OUTPUT_PORT_CHANNEL } from './channels.ts'

export interface IpcEvent {
  readonly ports: readonly MessagePort[]
}
type IpcListener = (event: IpcEvent, ...args: unknown[]) => void

/** The part of Electron's `ipcRenderer` that the bridge uses. */
export interface Ipc {
  invoke(channel: string, ...args: unknown[]): Promise<unknown>
  on(channel: string, listener: IpcListener): unknown
  removeListener(channel: string, listener: IpcListener): unknown
}

/** The part of `window` that receives output ports. */
export interface Page {
  readonly location: { readonly origin: string }
  postMessage(message: unknown, targetOrigin: string, transfer: Transferable[]): void
}

const refused: Outcome<never> = {
  ok: false,
  code: 'forbidden',
  message: 'This window asked for something that Gatehouse does not offer. Reload the window.',
}

/**
 * The object for `window.gatehouse`. `invoke` never rejects for a known channel whose answer was an
 * Outcome; an unknown name is answered `forbidden` without reaching main.
 */
export function createBridge(ipc: Ipc): GatehouseApi {
  const api: GatehouseApi = {
    invoke(channel, ...args) {
      if (!isInvokeChannel(channel)) return Promise.resolve(refused)
      return ipc.invoke(channel, ...args) as ReturnType<GatehouseApi['invoke']> as Promise<never>
    },
    on(event, listener) {
      if (!isEventChannel(event)) throw new TypeError('unknown event name')
      const forward: IpcListener = (_event, payload) => listener(payload as Parameters<typeof listener>[0])
      ipc.on(event, forward)
      return () => void ipc.removeListener(event, forward)
    },
  }
  return Object.freeze(api)
}

/** A MessagePort cannot cross the context bridge, so it goes on as a window message to our own origin. */
export function forwardOutputPorts(ipc: Ipc, page: Page): void {
  ipc.on(OUTPUT_PORT_CHANNEL, (event, payload) => {
    const [port] = event.ports
    if (!port || typeof payload !== 'object' || payload === null) return
    const { processId, token } = payload as { processId?: unknown; token?: unknown }
    if (typeof processId !== 'string' || typeof token !== 'string') return port.close()
    page.postMessage({ type: OUTPUT_PORT_CHANNEL, processId, token }, page.location.origin, [port])
  })
}
