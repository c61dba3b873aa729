import { describe, expect, it } from 'vitest'
import { echoOrigin, ok, scriptedOrigin } from '../test-kit/origins.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from '../test-kit/raw-client.ts'
import { bothFamilies, type FamilyLookup } from './resolver.ts'

const fails: FamilyLookup = () => Promise.reject(Object.assign(new Error('SERVFAIL'), { code: 'ESERVFAIL' }))

describe('bothFamilies', () => {
  it('P50 uses what resolved when one family fails', async () => {
    const onlyIpv4 = bothFamilies((host, family) =>
      family === 4 ? Promise.resolve(['127.0.0.2']) : fails(host, family),
    )
    expect(await onlyIpv4('x.test')).toEqual(['127.0.0.2'])
    const onlyIpv6 = bothFamilies((host, family) =>
      family === 6 ? Promise.resolve(['2001:DB8::1']) : fails(host, family),
    )
    expect(await onlyIpv6('x.test')).toEqual(['2001:db8::1'])
  })

  it('rejects when neither family resolves', async () => {
    await expect(bothFamilies(fails)('x.test')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })

  it('P50 a name with an answer in one family only is reached', async () => {
    const origin = await scriptedOrigin(() => ok('x'), '127.0.0.2')
    const { httpPort } = await startProxy({
      rules: rules('allow x.test'),
      settings: { allowLocalBinding: true },
      resolver: bothFamilies((host, family) => (family === 4 ? Promise.resolve(['127.0.0.2']) : fails(host, family))),
    })
    const client = await RawClient.open(httpPort)
    expect((await client.send(get(`http://x.test:${origin.port}/`)).answer()).status).toBe(200)
  })
})

describe('lookups', () => {
  it.each([
    ['that fail', () => Promise.reject(new Error('no'))],
    ['that never answer', () => new Promise<string[]>(() => {})],
    ['that answer with nothing', () => Promise.resolve([])],
  ])('P02 %s block, within the limit and without a connection; the record says dns_failed', async (_what, resolver) => {
    const { httpPort, factsWhere } = await startProxy({ rules: rules('allow x.test'), resolver, lookupTimeoutMs: 100 })
    for (const request of [get('http://x.test/'), connectTo('x.test:443')]) {
      const client = await RawClient.open(httpPort)
      const answer = await client.send(request).answer()
      expect([answer.status, answer.headers['x-gatehouse-reason']]).toEqual([403, 'dns_failed'])
    }
    expect(await factsWhere((facts) => facts.reason === 'dns_failed')).toMatchObject({
      state: 'blocked',
      host: 'x.test',
    })
  })

  it('happen once: an answer that changes afterwards leads nowhere else', async () => {
    const origin = await echoOrigin()
    const answers = [['127.0.0.1'], ['127.0.0.3'], ['10.0.0.1']]
    let asked = 0
    const { httpPort, factsWhere } = await startProxy({
      rules: rules('allow x.test'),
      settings: { allowLocalBinding: true },
      resolver: () => Promise.resolve(answers[asked++] ?? []),
    })
    const client = await RawClient.open(httpPort)
    expect((await client.send(connectTo(`x.test:${origin.port}`)).answer('HEAD')).status).toBe(200)
    expect(asked).toBe(1)
    expect(await factsWhere((facts) => facts.state === 'allowed' && facts.address !== undefined)).toMatchObject({
      address: '127.0.0.1',
    })
  })

  it('with one public and one private address block, so that neither is dialled', async () => {
    const origin = await echoOrigin()
    const { httpPort } = await startProxy({
      rules: rules('allow x.test'),
      names: { 'x.test': ['93.184.216.34', '127.0.0.1'] },
    })
    const client = await RawClient.open(httpPort)
    expect((await client.send(connectTo(`x.test:${origin.port}`)).answer()).headers['x-gatehouse-reason']).toBe(
      'not_allowed_local',
    )
    expect(origin.connections).toBe(0)
  })

  it('metadata services stay closed to names even without the local guard', async () => {
    const { httpPort } = await startProxy({
      rules: rules('allow x.test'),
      settings: { allowLocalBinding: true },
      names: { 'x.test': ['169.254.169.254'] },
    })
    const client = await RawClient.open(httpPort)
    expect((await client.send(connectTo('x.test:80')).answer()).headers['x-gatehouse-reason']).toBe('not_allowed_local')
  })

  it('of localhost and names below it are not made', async () => {
    const origin = await echoOrigin()
    const { httpPort, lookups } = await startProxy({ rules: rules('allow localhost', 'allow x.localhost') })
    for (const host of ['localhost', 'x.localhost', 'LOCALHOST.']) {
      const client = await RawClient.open(httpPort)
      expect((await client.send(connectTo(`${host}:${origin.port}`)).answer('HEAD')).status).toBe(200)
    }
    expect(lookups).toEqual([])
  })

  it('the next address is tried when the first does not answer', async () => {
    const origin = await echoOrigin()
    const { httpPort } = await startProxy({
      rules: rules('allow x.test'),
      settings: { allowLocalBinding: true },
      names: { 'x.test': ['127.0.0.9', '127.0.0.1'] },
    })
    const client = await RawClient.open(httpPort)
    expect((await client.send(connectTo(`x.test:${origin.port}`)).answer('HEAD')).status).toBe(200)
  })
})
