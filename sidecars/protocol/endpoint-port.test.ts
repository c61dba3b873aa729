import { expect, test } from 'vitest'
import { listenWhereItWas, portOfEndpoint } from './endpoint-port.ts'

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

test.each([
  ['the wanted port', 4000, 5000, [], 4000],
  ['the previous port where any would do', 0, 5000, [], 5000],
  ['any port when the previous one is taken', 0, 5000, [5000], 0],
  ['any port when there was none', 0, 0, [], 0],
])('listens at %s', async (_, wanted, previous, taken, expected) => {
  const listen = async (port: number) => {
    if ((taken as number[]).includes(port)) throw new Error('taken')
    return port
  }
  expect(await listenWhereItWas(wanted, previous, listen)).toBe(expected)
})

test('a wanted port that is taken is an error', async () => {
  const listen = () => Promise.reject(new Error('taken'))
  await expect(listenWhereItWas(4000, 5000, listen)).rejects.toThrow('taken')
})
