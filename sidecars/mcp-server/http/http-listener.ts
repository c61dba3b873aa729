import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHttpEntry, type HttpEntryOptions } from './http-entry.ts'
import { MCP_PATH } from './http-guards.ts'

export interface HttpListener {
  /** Where clients connect, e.g. `http://127.0.0.1:4511/mcp`. */
  readonly url: string
  close(): Promise<void>
}

/**
 * Listens on the loopback address, never on another.
 * @param port 0 picks a free one
 * @throws Error naming the port and the problem
 */
export async function listenHttp(port: number, options: HttpEntryOptions): Promise<HttpListener> {
  const entry = createHttpEntry(options)
  const server = createServer((request, response) => void entry.handle(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program uses the port; choose another' : error.message
      reject(new Error(`cannot serve MCP over HTTP on 127.0.0.1:${port}: ${why}`, { cause: error }))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
  server.on('error', (error) => options.log(error.message))
  const { port: boundPort } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${boundPort}${MCP_PATH}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await entry.close()
      server.closeAllConnections()
      await closed
    },
  }
}
