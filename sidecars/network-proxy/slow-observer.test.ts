import { describe, expect, it } from 'vitest'
import { ok, scriptedOrigin } from './test-kit/origins.ts'
import { rules, startProxy } from './test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from './test-kit/raw-client.ts'

describe('decisions do not wait for whoever records them', () => {
  it.each([
    ['never comes back', () => new Promise<void>(() => {})],
    ['fails', () => Promise.reject(new Error('disk full'))],
    [
      'throws',
      () => {
        throw new Error('disk full')
      },
    ],
  ])('a reader that %s delays nothing and lets nothing through', async (_what, report) => {
    const origin = await scriptedOrigin(() => ok('x'))
    const { httpPort, proxy } = await startProxy({ rules: rules('allow 127.0.0.1', 'deny 127.0.0.2'), report })
    const client = await RawClient.open(httpPort)
    for (let n = 0; n < 300; n++) {
      const [url, status] = n % 2 === 0 ? [`http://127.0.0.1:${origin.port}/`, 200] : [`http://127.0.0.2:${n}/`, 403]
      expect((await client.send(get(url)).answer()).status).toBe(status)
    }
    const tunnel = await RawClient.open(httpPort)
    expect((await tunnel.send(connectTo('127.0.0.2:443')).answer()).status).toBe(403)
    expect(proxy.log.blocks.total).toBe(151)
  })
})
