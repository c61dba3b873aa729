import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseNetworkConfig } from '../config/network-config.ts'
import { Owner } from '../test-kit/owner.ts'
import { rules, SETTINGS, startProxy } from '../test-kit/proxy-fixture.ts'
import { get, RawClient } from '../test-kit/raw-client.ts'
import { checkConfig } from './check-config.ts'
import { loadRequirements, parseRequirements } from './requirements.ts'
import { restrictRules, restrictSettings } from './restrict.ts'

const domains = (allow: string[], deny: string[] = []): Record<string, unknown> => ({
  domains: Object.fromEntries([...allow.map((p) => [p, 'allow']), ...deny.map((p) => [p, 'deny'])]),
})

/** The error of a configuration under requirements; undefined when it is within them. */
function breach(required: Record<string, unknown>, config: Record<string, unknown>): string | undefined {
  try {
    checkConfig(parseNetworkConfig({ allow_upstream_proxy: false, ...config }), parseRequirements(required))
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

describe('a configuration under requirements', () => {
  it.each([
    ['enabled', { enabled: false }, { enabled: true }],
    ['mode', { mode: 'limited' }, { mode: 'full' }],
    ['allow_upstream_proxy', { allow_upstream_proxy: false }, { allow_upstream_proxy: true }],
    [
      'dangerously_allow_non_loopback_proxy',
      { dangerously_allow_non_loopback_proxy: false },
      { dangerously_allow_non_loopback_proxy: true },
    ],
    ['allow_local_binding', { allow_local_binding: false }, { allow_local_binding: true }],
    [
      'dangerously_allow_all_unix_sockets',
      { allow_unix_sockets: ['/a'] },
      { dangerously_allow_all_unix_sockets: true },
    ],
    ['unix_sockets', { allow_unix_sockets: ['/a'] }, { unix_sockets: { '/b': 'allow' } }],
    ['allowed_domains', { allowed_domains: ['*.d.test'] }, domains(['d.test'])],
    ['allowed_domains', { allowed_domains: ['a.test'], allowed_domains_expansion: true }, domains(['b.test'])],
    [
      'allowed_domains',
      { allowed_domains: ['a.test'], allowed_domains_expansion: false },
      domains(['a.test', 'b.test']),
    ],
    ['denied_domains', { denied_domains: ['a.test'] }, domains([])],
    [
      'denied_domains',
      { denied_domains: ['a.test'], denied_domains_expansion: false },
      domains([], ['a.test', 'b.test']),
    ],
  ])('breaks %s', (key, required, config) => {
    expect(breach(required, config)).toMatch(new RegExp(`^network\\.${key}: .*\\(allowed: `))
  })

  it.each([
    [{ mode: 'full' }, { mode: 'limited' }],
    [{ allow_unix_sockets: ['/A'] }, { unix_sockets: { '/a': 'allow', '/b': 'deny' } }],
    [
      { allow_unix_sockets: ['/a'], dangerously_allow_all_unix_sockets: true },
      { dangerously_allow_all_unix_sockets: true },
    ],
    [{}, { dangerously_allow_all_unix_sockets: true }],
    [{ allowed_domains: ['**.d.test'] }, domains(['x.d.test', '*.d.test'])],
    [{ allowed_domains: ['a.test'], allowed_domains_expansion: true }, domains(['a.test', 'b.test'])],
    [{ allowed_domains: ['a.test', 'b.test'], allowed_domains_expansion: false }, domains(['a.test'], ['b.test'])],
    [{ denied_domains: ['a.test'] }, domains([], ['a.test', 'b.test'])],
  ])('stays within %j', (required, config) => {
    expect(breach(required, config)).toBeUndefined()
  })
})

describe('requirements that cannot be used', () => {
  it.each([
    [{ allowed_domain: [] }, 'unknown requirement'],
    [{ allowed_domains: ['*'] }, 'global wildcard'],
    [{ denied_domains: ['http://x'] }, 'not a URL'],
    [{ enabled: 'no' }, 'true or false'],
    [{ mode: 'half' }, '"full" or "limited"'],
    [{ http_port: 0 }, 'port from 1'],
    [{ unix_sockets: { relative: 'allow' } }, 'absolute path'],
    [{ domains: { 'a.test': 'ask' } }, '"allow" or "deny"'],
  ])('%j', (document, problem) => {
    expect(() => parseRequirements(document)).toThrow(problem)
  })

  it('a file that is broken is an error naming it, one that is absent means nothing is demanded', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-requirements-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'network-requirements.toml')
    expect(await loadRequirements(path)).toBeUndefined()
    writeFileSync(path, 'mode = "half"\n')
    await expect(loadRequirements(path)).rejects.toThrow(`${path}: mode`)
    writeFileSync(path, '[domains]\n"bad.test" = "deny"\n')
    expect((await loadRequirements(path))?.denied).toHaveLength(1)
  })
})

describe('a running proxy under requirements', () => {
  it('settings give way, with a word about each', () => {
    const required = parseRequirements({
      mode: 'limited',
      allow_local_binding: false,
      managed_allowed_domains_only: true,
      http_port: 3200,
    })
    const { settings, warnings } = restrictSettings(
      { ...SETTINGS, allowLocalBinding: true, unknownHost: 'ask' },
      required,
    )
    expect(settings).toMatchObject({
      mode: 'limited',
      allowLocalBinding: false,
      unknownHost: 'block',
      http: { port: 3200 },
    })
    expect(warnings).toHaveLength(2)
  })

  it('managed denials are there whatever the rules say, and allows beyond the list count for nothing', () => {
    const required = parseRequirements({ allowed_domains: ['**.d.test'], denied_domains: ['x.d.test'] })
    const texts = restrictRules(rules('allow a.d.test', 'allow else.test', 'deny b.d.test'), required)
    expect(texts.map(({ verdict, pattern }) => `${verdict} ${pattern}`)).toEqual([
      'allow a.d.test',
      'deny b.d.test',
      'deny x.d.test',
      'allow **.d.test',
    ])
  })

  it('a bad rule is named by its place among those that were given', () => {
    const required = parseRequirements({ allowed_domains: ['a.test'] })
    expect(() => restrictRules(rules('allow b.test', 'deny *'), required)).toThrow(/^rules\[1\]\.pattern/)
  })

  it('holds at the wire: managed deny, managed-only, and review of an allowed host', async () => {
    const owner = new Owner()
    const { httpPort, proxy } = await startProxy({
      askHost: owner.ask,
      settings: { unknownHost: 'ask' },
      rules: rules('allow bad.test', 'allow review.test'),
      requirements: parseRequirements({
        denied_domains: ['bad.test'],
        review_domains: ['review.test'],
        managed_allowed_domains_only: true,
      }),
    })
    const reason = async (url: string) =>
      (await (await RawClient.open(httpPort)).send(get(url)).answer()).headers['x-gatehouse-reason']
    expect(await reason('http://bad.test/')).toBe('denied')
    expect(await reason('http://unknown.test/')).toBe('not_allowed')
    proxy.setRules(2, rules('allow bad.test', 'allow review.test'))
    expect(await reason('http://bad.test/')).toBe('denied')
    const reviewed = reason('http://review.test/')
    ;(await owner.question()).answer('deny', { reason: 'reviewed' })
    expect(await reviewed).toBe('policy_denied')
  })
})
