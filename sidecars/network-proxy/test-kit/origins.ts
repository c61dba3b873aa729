/** Servers on loopback that tests connect to through the proxy. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Origin {
  port: number
  /** Connections accepted so far. */
  connections: number
  /** Open sockets. */
  sockets: Set<Socket>
}

async function listen(server: Server, host: string): Promise<Origin> {
  const origin: Origin = { port: 0, connections: 0, sockets: new Set() }
  server.on('connection', (socket: Socket) => {
    origin.connections++
    origin.sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => origin.sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  origin.port = (server.address() as AddressInfo).port
  onTestFinished(() => {
    server.close()
    for (const socket of origin.sockets) socket.destroy()
  })
  return origin
}

/** A server that gets the bare socket. */
export function rawOrigin(serve: (socket: Socket) => void, host = '127.0.0.1'): Promise<Origin> {
  return listen(createServer({ allowHalfOpen: true, noDelay: true }, serve), host)
}

/** A server that answers every request that is complete with `answer(requestText)`, in order. */
export function scriptedOrigin(
  answer: (request: string, socket: Socket) => string | Buffer,
  host = '127.0.0.1',
): Promise<Origin> {
  return rawOrigin((socket) => {
    let received = ''
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
      for (;;) {
        const end = requestEnd(received)
        if (end < 0) return
        const request = received.slice(0, end)
        received = received.slice(end)
        socket.write(answer(request, socket))
      }
    })
    socket.on('end', () => socket.end())
  }, host)
}

function requestEnd(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return -1
  const head = text.slice(0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length) {
    const end = headEnd + 4 + Number(length[1])
    return text.length < end ? -1 : end
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    const end = text.indexOf('\r\n\r\n', headEnd + 2)
    return end < 0 ? -1 : end + 4
  }
  return headEnd + 4
}

/** node:http, as an independent reading of what the proxy sends. */
export function httpOrigin(
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  host = '127.0.0.1',
): Promise<Origin> {
  return listen(createHttpServer(serve), host)
}

/** Sends back whatever comes. */
export function echoOrigin(host = '127.0.0.1'): Promise<Origin> {
  return rawOrigin((socket) => socket.pipe(socket), host)
}

/** A short response with a body. */
export function ok(body: string, more = ''): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`
}
