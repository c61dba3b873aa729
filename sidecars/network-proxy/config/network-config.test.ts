import { describe, expect, it } from 'vitest'
import { parseDocument } from './config-file.ts'
import { ConfigError, parseNetworkConfig, rulesOfDomains } from './network-config.ts'

describe('parseNetworkConfig', () => {
  it('has a safe default for every key', () => {
    expect(parseNetworkConfig({})).toEqual({
      enabled: false,
      http: { host: '127.0.0.1', port: 3128 },
      socks: { host: '127.0.0.1', port: 8081 },
      socksUdp: false,
      allowUpstreamProxy: true,
      allowNonLoopback: false,
      allowAllUnixSockets: false,
      transparentTcp: false,
      unixSockets: {},
      mode: 'full',
      limitedAllowsWebsocket: false,
      allowLocalBinding: false,
      domains: {},
      mitm: undefined,
      mitmCa: undefined,
      warnings: [],
    })
  })

  it('reads every key', () => {
    const config = parseNetworkConfig({
      enabled: true,
      proxy_url: 'http://127.0.0.1:9000',
      enable_socks5: false,
      enable_socks5_udp: true,
      allow_upstream_proxy: false,
      dangerously_allow_non_loopback_proxy: true,
      dangerously_allow_all_unix_sockets: true,
      unix_sockets: { '/run/a.sock': 'allow', 'not absolute': 'deny' },
      mode: 'limited',
      limited_allows_websocket: true,
      allow_local_binding: true,
      domains: { 'a.com': 'allow' },
    })
    expect(config).toMatchObject({
      enabled: true,
      http: { port: 9000 },
      socks: undefined,
      socksUdp: true,
      allowUpstreamProxy: false,
      allowNonLoopback: true,
      allowAllUnixSockets: true,
      unixSockets: { '/run/a.sock': 'allow', 'not absolute': 'deny' },
      mode: 'limited',
      limitedAllowsWebsocket: true,
      allowLocalBinding: true,
      domains: { 'a.com': 'allow' },
    })
  })

  it.each([
    [{ domain: {} }, 'network.domain', 'did you mean domains?'],
    [{ denied_domain: [] }, 'network.denied_domain', 'unknown key'],
    [{ enabled: 'yes' }, 'network.enabled', 'true or false'],
    [{ mode: 'half' }, 'network.mode', 'unknown variant "half", expected "full" or "limited"'],
    [{ proxy_url: '' }, 'network.proxy_url', 'missing host'],
    [{ socks_url: 5 }, 'network.socks_url', 'expected an address'],
    [{ domains: [] }, 'network.domains', 'expected a table'],
    [{ domains: { 'a.com': 'ask' } }, 'network.domains."a.com"', 'expected "allow" or "deny"'],
    [{ domains: { 'a.com': 'none' } }, 'network.domains."a.com"', 'expected "allow" or "deny"'],
    [{ domains: { 'http://a.com': 'allow' } }, 'network.domains."http://a.com"', 'not a URL'],
    [{ unix_sockets: { 'run/a': 'allow' } }, 'network.unix_sockets."run/a"', 'absolute path'],
    [{ unix_sockets: { '/a\0b': 'allow' } }, 'network.unix_sockets."/a\\u0000b"', 'NUL'],
    [{ credential_broker: true }, 'network.credential_broker', 'reserved'],
    [{ transparent_tcp: 1 }, 'network.transparent_tcp', 'true or false'],
    [{ transparent_tcp: true, enable_socks5: false }, 'network.transparent_tcp', 'set network.enable_socks5 = true'],
    ['text', 'network', 'expected a table'],
  ])('refuses %j, naming %s', (value, field, problem) => {
    let error: unknown
    try {
      parseNetworkConfig(value)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({ field })
    expect((error as Error).message).toContain(problem)
  })

  it('redirects connections on Linux only, and not unless it is said', () => {
    expect(parseNetworkConfig({ transparent_tcp: true }, 'linux').transparentTcp).toBe(true)
    expect(parseNetworkConfig({}, 'linux').transparentTcp).toBe(false)
    for (const platform of ['darwin', 'win32'] as const) {
      expect(() => parseNetworkConfig({ transparent_tcp: true }, platform)).toThrow(
        /^network\.transparent_tcp: connections are redirected on Linux only; remove it/,
      )
      expect(parseNetworkConfig({ transparent_tcp: false }, platform).transparentTcp).toBe(false)
    }
  })

  it('reserved names may stand there switched off', () => {
    expect(parseNetworkConfig({ credential_broker: false, credential_providers: {} }).enabled).toBe(false)
  })

  it('P10 a global deny is refused at load and the default explained', () => {
    expect(() => parseNetworkConfig({ domains: { 'x.test': 'allow', '*': 'deny' } })).toThrow(
      /hosts that no rule allows are refused without it/,
    )
  })

  it('spellings of one pattern become one entry, and deny wins', () => {
    expect(parseNetworkConfig({ domains: { 'A.com': 'allow', 'a.com': 'deny', 'b.com.': 'allow' } }).domains).toEqual({
      'a.com': 'deny',
      'b.com': 'allow',
    })
  })

  it('takes the old lists over, with a word about it', () => {
    const config = parseNetworkConfig({ allowed_domains: ['a.com'], denied_domains: ['b.com'] })
    expect(config.domains).toEqual({ 'a.com': 'allow', 'b.com': 'deny' })
    expect(config.warnings).toHaveLength(2)
  })

  it('makes rules of the domain map', () => {
    expect(rulesOfDomains({ 'a.com:8443': 'allow' })).toEqual([
      { id: 'rul_config_a.com:8443', pattern: 'a.com:8443', verdict: 'allow', scope: 'always' },
    ])
  })
})

describe('parseDocument', () => {
  it('reads TOML and JSON alike', () => {
    const fromToml = parseDocument('a.toml', 'mode = "limited"\n[domains]\n"a.com" = "allow"\n')
    const fromJson = parseDocument('a.json', '{"mode": "limited", "domains": {"a.com": "allow"}}')
    expect(parseNetworkConfig(fromToml)).toEqual(parseNetworkConfig(fromJson))
  })

  it('names file and line of what cannot be read', () => {
    expect(() => parseDocument('a.toml', 'mode = "full"\nx = = 1\n')).toThrow(/^a\.toml:2: /)
    expect(() => parseDocument('a.json', '{"mode": }')).toThrow(/^a\.json: not valid JSON/)
  })
})
