/** A listening socket of the proxy, and the choice of protocol by the first byte of each connection. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { ClientConnection } from './client-connection.ts'
import type { ByteSocket } from '../tcp/byte-socket.ts'
import { listeningHandle, tcpBinding } from '../tcp/tcp-binding.ts'
import { TcpSocket } from '../tcp/tcp-socket.ts'

/** Ports tried when the wanted one is taken. */
export interface PortRange {
  first: number
  last: number
}
export const HTTP_PORTS: PortRange = { first: 3128, last: 3159 }
export const SOCKS_PORTS: PortRange = { first: 8081, last: 8112 }

export interface ListenAt {
  host: string
  port: number
}

export type AcceptConnection = (client: ClientConnection) => void

// A burst of clients at once is normal for package managers; the kernel caps this anyway.
const BACKLOG = 4096
export class Listener {
  private constructor(
    private readonly server: Server,
    /** The address it is bound to. */
    readonly host: string,
    readonly port: number,
    private readonly accept: AcceptConnection,
  ) {}

  /** Listens. Rejects with the error of the operating system, such as EADDRINUSE. */
  static open(at: ListenAt, accept: AcceptConnection): Promise<Listener> {
    return new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true, noDelay: true })
      server.once('error', reject)
      server.listen({ host: at.host, port: at.port, exclusive: true, backlog: BACKLOG }, () => {
        server.off('error', reject)
        // Errors of single accepts (out of descriptors) pass; the listener goes on.
        server.on('error', () => {})
        const { address, port } = server.address() as AddressInfo
        const listener = new Listener(server, address, port, accept)
        listener.start()
        resolve(listener)
      })
    })
  }

  private start(): void {
    const binding = tcpBinding()
    const handle = binding && listeningHandle(this.server, binding)
    if (!handle) return void this.server.on('connection', (socket: Socket) => this.onConnection(socket))
    handle.onconnection = (status, client) => {
      if (status !== 0 || !client) return
      client.setNoDelay(true)
      this.onConnection(new TcpSocket(client, binding))
    }
  }

  private onConnection(socket: ByteSocket): void {
    this.accept(new ClientConnection(socket))
    socket.resume()
  }

  /** Stops accepting; connections already handed over live on. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      // Accepted connections keep a server "open" for close(); they are not its business any more.
      setImmediate(resolve)
    })
  }
}

/**
 * Listens at the wanted port, else in the range, else on any free port; a warning says what became of it.
 * Rejects with errors other than a port that is taken or forbidden.
 */
export async function listenNear(
  at: ListenAt,
  range: PortRange,
  accept: AcceptConnection,
): Promise<{ listener: Listener; warning: string | undefined }> {
  const ports = [at.port]
  for (let port = range.first; port <= range.last; port++) if (port !== at.port) ports.push(port)
  for (const port of at.port === 0 ? [0] : [...ports, 0]) {
    try {
      const listener = await Listener.open({ host: at.host, port }, accept)
      if (port === at.port) return { listener, warning: undefined }
      return { listener, warning: `port ${at.port} cannot be had, listening on ${listener.port} instead` }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if ((code !== 'EADDRINUSE' && code !== 'EACCES') || port === 0) throw error
    }
  }
  throw new Error('unreachable: port 0 either listens or throws')
}
