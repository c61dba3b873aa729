/** Ending a TCP connection so that the other side cannot take a torn stream for a whole one. */
import type { ByteSocket } from './byte-socket.ts'

/**
 * Resets the connection. Where that is impossible it is closed: before it is connected, and while our
 * end of stream is on its way. Node's `resetAndDestroy` fails in the latter case and never releases the
 * descriptor (libuv answers EINVAL during a shutdown, and the handle counts as closed nevertheless).
 */
export function resetSocket(socket: ByteSocket): void {
  if (socket.destroyed) return
  const isShuttingDown = socket.writableEnded && !socket.writableFinished
  if (socket.connecting || isShuttingDown) socket.destroy()
  else
    try {
      socket.resetAndDestroy()
    } catch {
      // Only bare TCP can be reset: TLS and unix sockets throw.
      socket.destroy()
    }
}
