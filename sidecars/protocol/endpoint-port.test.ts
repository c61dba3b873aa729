import { expect, test } from 'vitest'
import { portOfEndpoint } from './endpoint-port.ts'

test.each([
  ['ws://127.0.0.1:4512', 4512],
  ['http://127.0.0.1:4511/mcp', 4511],
  ['socks5://[::1]:1080', 1080],
  ['http://127.0.0.1', 0],
  ['/run/user/1000/gatehouse/mcp.sock', 0],
  ['', 0],
  [undefined, 0],
])('%s has port %i', (endpoint, port) => {
  expect(portOfEndpoint(endpoint)).toBe(port)
})
