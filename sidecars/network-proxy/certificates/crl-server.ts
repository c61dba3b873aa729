/** Serves the revocation list on loopback: clients of Windows' TLS refuse a certificate without one. */
import { createServer, type AddressInfo, type Server } from 'node:net'

const PATH = '/gatehouse.crl'
const LIMIT_MS = 10_000
const MAX_REQUEST_BYTES = 8192

export class CrlServer {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** Listens on a free port of 127.0.0.1. Rejects with the operating system's error. */
  static open(revocationList: () => Buffer): Promise<CrlServer> {
    return new Promise((resolve, reject) => {
      const server = createServer((socket) => {
        socket.on('error', () => socket.destroy())
        socket.setTimeout(LIMIT_MS, () => socket.destroy())
        let received = ''
        socket.on('data', (bytes: Buffer) => {
          received += bytes.toString('latin1')
          if (received.includes('\r\n\r\n')) socket.end(answer(received, revocationList))
          else if (received.length > MAX_REQUEST_BYTES) socket.destroy()
        })
      })
      server.once('error', reject)
      server.listen(0, '127.0.0.1', () => {
        server.off('error', reject)
        server.on('error', () => {})
        server.unref()
        resolve(new CrlServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`))
      })
    })
  }

  close(): void {
    this.server.close()
  }
}

function answer(request: string, revocationList: () => Buffer): Buffer {
  const known = request.startsWith(`GET ${PATH} `)
  const body = known ? revocationList() : Buffer.from('Only the revocation list is here.\n')
  const head =
    `HTTP/1.1 ${known ? '200 OK' : '404 Not Found'}\r\n` +
    `content-type: ${known ? 'application/pkix-crl' : 'text/plain'}\r\n` +
    `content-length: ${body.length}\r\nconnection: close\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}
