import { WebSocket } from 'ws'
import type { Carrier } from '../wire/carrier.ts'
import { MAX_MESSAGE_BYTES } from '../wire/websocket-reader.ts'

/** A longer message leaves in fragments: receivers take no frame above 16 MiB. */
const MAX_FRAME_BYTES = 8 * 1024 * 1024
/** While this much waits for the exec server, no more is taken from the stream. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024

/**
 * Hands one stream to an exec server that listens elsewhere: every message goes through as it is, and the end of
 * either side is the end of the other.
 */
export function forwardStream(carrier: Carrier, url: string, log: (line: string) => void): void {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: MAX_MESSAGE_BYTES,
  })
  const early: Buffer[] = []
  let isHeldBack = false
  const sent = () => {
    if (!isHeldBack || socket.bufferedAmount >= HIGH_WATER_BYTES / 2) return
    isHeldBack = false
    carrier.resume()
  }
  const send = (message: Buffer) => {
    let at = 0
    for (; message.length - at > MAX_FRAME_BYTES; at += MAX_FRAME_BYTES)
      socket.send(message.subarray(at, at + MAX_FRAME_BYTES), { binary: false, fin: false })
    socket.send(message.subarray(at), { binary: false, fin: true }, sent)
    if (isHeldBack || socket.bufferedAmount < HIGH_WATER_BYTES) return
    isHeldBack = true
    carrier.pause()
  }
  socket.on('message', (data: Buffer) => {
    carrier.sendText(data.toString('utf8'))
    if (carrier.isCongested) socket.pause()
  })
  socket.once('open', () => {
    for (const message of early.splice(0)) send(message)
  })
  socket.on('error', (error) => log(`the exec server at ${url} cannot be reached: ${error.message}`))
  socket.once('close', () => carrier.close('the exec server ended the connection'))
  carrier.start({
    onMessage: (message) => {
      if (socket.readyState === WebSocket.OPEN) send(message)
      else if (socket.readyState === WebSocket.CONNECTING) early.push(Buffer.from(message))
    },
    onProblem: (problem) => carrier.close(problem),
    onDrained: () => socket.resume(),
    onClose: () => socket.terminate(),
  })
}
