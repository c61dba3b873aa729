import { expect, it } from 'vitest'
import { rawOrigin } from '../test-kit/origins.ts'
import { eventually } from '../test-kit/owner.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { RawClient } from '../test-kit/raw-client.ts'

it('a request whose body ends too soon is given up, also when the end came while dialling', async () => {
  const origin = await rawOrigin((socket) => {
    socket.resume()
    socket.on('end', () => socket.end())
  })
  let resolve: (addresses: string[]) => void = () => {}
  const { httpPort } = await startProxy({
    rules: rules('allow a.test'),
    settings: { allowLocalBinding: true },
    resolver: () => new Promise((found) => (resolve = found)),
  })
  const client = await RawClient.open(httpPort)
  client.send(
    `POST http://a.test:${origin.port}/ HTTP/1.1\r\nHost: a.test:${origin.port}\r\nContent-Length: 100\r\n\r\npart`,
  )
  client.socket.end()
  await new Promise((done) => setTimeout(done, 50))
  resolve(['127.0.0.1'])
  await client.end()
  await eventually(() => origin.connections === 1 && origin.sockets.size === 0)
  expect(client.received).toHaveLength(0)
})
