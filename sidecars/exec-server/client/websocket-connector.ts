import { WebSocket } from 'ws'
import { WebSocketTransport } from '../../rpc/websocket-transport.ts'
import type { ExecConnector } from './carrier.ts'

export interface WebSocketConnectorOptions {
  /** `ws://` or `wss://`. */
  url: string
  /** Sent as `Authorization: Bearer …`. */
  token?: string
  /** A frozen server is noticed within two of these; default 20 s. */
  pingIntervalMs?: number
}

/** Receivers refuse a frame over 16 MiB and a message over 64 MiB. */
const MAX_FRAME_BYTES = 8 * 1024 * 1024
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const DEFAULT_PING_INTERVAL_MS = 20_000

/** Connects to an exec server that listens on a WebSocket. No Origin, no compression, no redirects. */
export function websocketConnector(options: WebSocketConnectorOptions): ExecConnector {
  return (signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const socket = new FragmentingSocket(options.url, {
        perMessageDeflate: false,
        followRedirects: false,
        maxPayload: MAX_MESSAGE_BYTES,
        headers: options.token === undefined ? {} : { authorization: `Bearer ${options.token}` },
      })
      const onAbort = () => {
        socket.terminate()
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      socket.once('open', () => {
        signal.removeEventListener('abort', onAbort)
        socket.off('error', onError)
        const transport = new WebSocketTransport(`exec server at ${options.url}`, socket, {
          pingIntervalMs: options.pingIntervalMs ?? DEFAULT_PING_INTERVAL_MS,
        })
        resolve({ transport, noticesSilence: true })
      })
      const onError = (error: Error) => {
        signal.removeEventListener('abort', onAbort)
        reject(new Error(`no connection to the exec server at ${options.url}: ${error.message}`, { cause: error }))
      }
      // Stays for the errors that follow a terminate; the first one settles the promise.
      socket.on('error', onError)
    })
}

/** Splits a message that is too large for one frame. Pieces of one `send` follow each other directly. */
class FragmentingSocket extends WebSocket {
  override send(data: Buffer, ...rest: unknown[]): void {
    const callback = rest.at(-1) as ((error?: Error) => void) | undefined
    let offset = 0
    for (; data.length - offset > MAX_FRAME_BYTES; offset += MAX_FRAME_BYTES)
      super.send(data.subarray(offset, offset + MAX_FRAME_BYTES), { binary: false, fin: false })
    super.send(data.subarray(offset), { binary: false, fin: true }, callback)
  }
}
