// Stands between the CLI and the exec server, passes every WebSocket message on, and keeps a log of
// what was said. Can cut the connection in the middle of things.
import { createServer } from 'node:http'
import { WebSocket, WebSocketServer } from 'ws'

const MAX_FRAME_BYTES = 8 * 1024 * 1024

/**
 * @param targetUrl of the exec server
 * @param cutWhen called with each message of the server; the first true cuts the connection, once
 */
export async function startWireTap(targetUrl, cutWhen = () => false) {
  const said = []
  let wasCut = false
  const http = createServer((_request, response) => response.writeHead(404).end())
  const clients = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  http.on('upgrade', (request, socket, head) => {
    const { authorization } = request.headers
    const server = new WebSocket(targetUrl, {
      perMessageDeflate: false,
      headers: authorization ? { authorization } : {},
    })
    server.on('unexpected-response', (_request, response) => {
      socket.end(`HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\nConnection: close\r\n\r\n`)
    })
    server.on('error', () => socket.destroy())
    server.on('open', () => clients.handleUpgrade(request, socket, head, (client) => join(client, server)))
  })

  function join(client, server) {
    const pass = (from, to, name) => {
      from.on('message', (bytes) => {
        const message = JSON.parse(bytes)
        said.push({ from: name, message })
        if (name === 'server' && !wasCut && cutWhen(message)) {
          wasCut = true
          setImmediate(() => {
            client.terminate()
            server.terminate()
          })
        }
        if (to.readyState === to.OPEN) sendWhole(to, bytes)
      })
      from.on('close', () => to.terminate())
      from.on('error', () => to.terminate())
    }
    pass(client, server, 'client')
    pass(server, client, 'server')
  }

  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `ws://127.0.0.1:${http.address().port}`,
    said,
    close() {
      for (const client of clients.clients) client.terminate()
      http.closeAllConnections()
      http.close()
    },
  }
}

function sendWhole(socket, bytes) {
  let offset = 0
  for (; bytes.length - offset > MAX_FRAME_BYTES; offset += MAX_FRAME_BYTES)
    socket.send(bytes.subarray(offset, offset + MAX_FRAME_BYTES), { binary: false, fin: false })
  socket.send(bytes.subarray(offset), { binary: false })
}
