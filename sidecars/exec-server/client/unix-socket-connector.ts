import { connectUnix, socketTransport } from '../../rpc/unix-socket.ts'
import type { ExecConnector } from './carrier.ts'

export interface UnixSocketConnectorOptions {
  path: string
  /** First line that Gatehouse's own exec server expects on its socket; see `run/exec.sock`. */
  attach?: { token: string; name: string }
}

/** Connects to an exec server on a unix socket: JSON lines, after the attach line when one is given. */
export function unixSocketConnector({ path, attach }: UnixSocketConnectorOptions): ExecConnector {
  return async (signal) => {
    signal.throwIfAborted()
    const socket = await connectUnix(path)
    if (signal.aborted) {
      socket.destroy()
      throw signal.reason
    }
    socket.setNoDelay(true)
    const transport = socketTransport(`exec server at ${path}`, socket)
    if (attach) transport.send(JSON.stringify({ gatehouse: 'attach', ...attach }))
    return { transport }
  }
}
