import { PassThrough, type Readable, type Writable } from 'node:stream'
import { connectUnix } from '../../rpc/unix-socket.ts'
import { formatAttach } from './attach-line.ts'

/** Where a host lets agents attach. */
export interface AttachPoint {
  socketPath: string
  token: string
}

/** The far end of a relay: a host, or what stands in for one. */
export interface Upstream {
  readonly input: Readable
  readonly output: Writable
  destroy(): void
}

/** Attaches to a host. @throws Error of the system when nobody listens there */
export async function attach(point: AttachPoint, agent: { cwd: string; pid: number }): Promise<Upstream> {
  const socket = await connectUnix(point.socketPath)
  socket.allowHalfOpen = true
  socket.setNoDelay(true)
  socket.write(formatAttach({ token: point.token, ...agent }))
  return { input: socket, output: socket, destroy: () => socket.destroy() }
}

/** Explains to the agent why there is no host; loads the MCP SDK only now. */
export async function explain(reason: () => string): Promise<Upstream> {
  const { serveExplanation } = await import('./explanation-server.ts')
  const toServer = new PassThrough()
  const fromServer = new PassThrough()
  const close = serveExplanation(toServer, fromServer, reason)
  return {
    input: fromServer,
    output: toServer,
    destroy() {
      close()
      fromServer.destroy()
      toServer.destroy()
    },
  }
}
