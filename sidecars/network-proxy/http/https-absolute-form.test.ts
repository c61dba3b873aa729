import { describe, expect, it } from 'vitest'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { get, RawClient } from '../test-kit/raw-client.ts'
import { httpsOrigin, ORIGIN_ROOTS, originCertificate } from '../test-kit/tls-origins.ts'

describe('an https URL in absolute form', () => {
  it('is fetched over TLS by the proxy, on connections that are reused', async () => {
    let connections = 0
    const origin = await httpsOrigin((request, response) => {
      request.resume()
      request.on('end', () => response.end(`${request.method} ${request.url}`))
    })
    origin.server.on('secureConnection', () => connections++)
    const { httpPort, factsWhere } = await startProxy({ rules: rules('allow 127.0.0.1'), platformRoots: ORIGIN_ROOTS })
    const client = await RawClient.open(httpPort)
    for (let n = 0; n < 3; n++) {
      const answer = await client.send(get(`https://127.0.0.1:${origin.port}/${n}`)).answer()
      expect(answer.body.toString()).toBe(`GET /${n}`)
    }
    expect(connections).toBe(1)
    await factsWhere(({ protocol, state }) => protocol === 'https' && state === 'allowed')
  })

  it('is judged like any other request', async () => {
    const { httpPort } = await startProxy({ rules: rules('deny 127.0.0.1') })
    const client = await RawClient.open(httpPort)
    expect((await client.send(get('https://127.0.0.1/')).answer()).headers['x-gatehouse-reason']).toBe('denied')
  })

  it('of an origin whose certificate is for another host, or of a stranger, is a failed hop', async () => {
    const wrongHost = await httpsOrigin((_request, response) => response.end(), originCertificate('other.test'))
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1'), platformRoots: ORIGIN_ROOTS })
    const answer = await (await RawClient.open(httpPort)).send(get(`https://127.0.0.1:${wrongHost.port}/`)).answer()
    expect(answer.status).toBe(502)
    expect(answer.body.toString()).toMatch(/TLS|certificate/)
    const stranger = await startProxy({ rules: rules('allow 127.0.0.1'), platformRoots: () => Promise.resolve([]) })
    const refused = await RawClient.open(stranger.httpPort)
    expect((await refused.send(get(`https://127.0.0.1:${wrongHost.port}/`)).answer()).status).toBe(502)
  })
})
