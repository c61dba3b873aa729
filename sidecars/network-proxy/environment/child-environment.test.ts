import { describe, expect, it } from 'vitest'
import { childEnvironment, type ChildContext, type ProxyEndpoints } from './child-environment.ts'

const HTTP = 'http://127.0.0.1:3128'
const SOCKS = 'socks5h://127.0.0.1:3128'
const TRUST = { pem: '/run/bundle.pem', keystore: '/run/bundle.jks', wgetrc: '/run/wgetrc' }
const LOCAL = 'localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16'

function made(endpoints: Partial<ProxyEndpoints> = {}, child: Partial<ChildContext> = {}): Record<string, string> {
  return childEnvironment(
    { httpUrl: HTTP, socksUrl: SOCKS, allowLocalBinding: false, ...endpoints },
    { platform: 'linux', inherited: {}, changes: {}, ...child },
  )
}

const HTTP_NAMES =
  'HTTP_PROXY HTTPS_PROXY http_proxy https_proxy ALL_PROXY all_proxy YARN_HTTP_PROXY YARN_HTTPS_PROXY npm_config_http_proxy npm_config_https_proxy npm_config_proxy NPM_CONFIG_HTTP_PROXY NPM_CONFIG_HTTPS_PROXY NPM_CONFIG_PROXY BUNDLE_HTTP_PROXY BUNDLE_HTTPS_PROXY PIP_PROXY DOCKER_HTTP_PROXY DOCKER_HTTPS_PROXY WS_PROXY WSS_PROXY ws_proxy wss_proxy GRPC_PROXY grpc_proxy CARGO_HTTP_PROXY'.split(
    ' ',
  )
const NO_PROXY_NAMES = 'NO_PROXY no_proxy npm_config_noproxy NPM_CONFIG_NOPROXY BUNDLE_NO_PROXY'.split(' ')
const CA_NAMES =
  'CODEX_CA_CERTIFICATE SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO PIP_CERT BUNDLE_SSL_CA_CERT npm_config_cafile NPM_CONFIG_CAFILE CARGO_HTTP_CAINFO DENO_CERT AWS_CA_BUNDLE CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE NIX_SSL_CERT_FILE GRPC_DEFAULT_SSL_ROOTS_FILE_PATH'.split(
    ' ',
  )

describe('variables of a child', () => {
  it.each([
    ['the address of the proxy', HTTP_NAMES, {}, HTTP],
    ['SOCKS', ['FTP_PROXY', 'ftp_proxy'], {}, SOCKS],
    ['HTTP where SOCKS is off', ['FTP_PROXY', 'ftp_proxy'], { socksUrl: undefined }, HTTP],
    ['no exceptions', NO_PROXY_NAMES, {}, ''],
    ['local exceptions with local binding', NO_PROXY_NAMES, { allowLocalBinding: true }, LOCAL],
    ['the trust bundle', CA_NAMES, { trust: TRUST }, '/run/bundle.pem'],
  ] as const)('%s', (_what, names, endpoints, value) => {
    const environment = made(endpoints)
    expect(Object.fromEntries(names.map((name) => [name, environment[name]]))).toEqual(
      Object.fromEntries(names.map((name) => [name, value])),
    )
  })

  it('P29 ALL_PROXY is an http URL, because several clients fail on socks5h', () => {
    expect(made().ALL_PROXY).toBe(HTTP)
    expect(made().GATEHOUSE_SOCKS_PROXY).toBe(SOCKS)
  })

  it('markers, and nothing beyond the names of this file', () => {
    const environment = made({ trust: TRUST })
    expect(environment).toMatchObject({
      ELECTRON_GET_USE_PROXY: 'true',
      NODE_USE_ENV_PROXY: '1',
      GATEHOUSE_NETWORK_PROXY: '1',
      GATEHOUSE_ALLOW_LOCAL_BINDING: '0',
      CLOUDSDK_PROXY_TYPE: 'http',
      CLOUDSDK_PROXY_ADDRESS: '127.0.0.1',
      CLOUDSDK_PROXY_PORT: '3128',
    })
    expect(made({ allowLocalBinding: true }).GATEHOUSE_ALLOW_LOCAL_BINDING).toBe('1')
    const others = Object.keys(environment).filter(
      (name) => ![...HTTP_NAMES, ...NO_PROXY_NAMES, ...CA_NAMES, 'FTP_PROXY', 'ftp_proxy'].includes(name),
    )
    expect(others.sort()).toEqual([
      'CLOUDSDK_PROXY_ADDRESS',
      'CLOUDSDK_PROXY_PORT',
      'CLOUDSDK_PROXY_TYPE',
      'ELECTRON_GET_USE_PROXY',
      'GATEHOUSE_ALLOW_LOCAL_BINDING',
      'GATEHOUSE_NETWORK_PROXY',
      'GATEHOUSE_SOCKS_PROXY',
      'JAVA_TOOL_OPTIONS',
      'NODE_USE_ENV_PROXY',
      'WGETRC',
    ])
  })

  it('says that connections are redirected where they are, which takes SOCKS', () => {
    expect(made({ transparentTcp: true }).GATEHOUSE_TRANSPARENT_TCP).toBe('1')
    for (const endpoints of [{}, { transparentTcp: false }, { transparentTcp: true, socksUrl: undefined }])
      expect(made(endpoints)).not.toHaveProperty('GATEHOUSE_TRANSPARENT_TCP')
  })

  it('P28 no host of a rule is ever an exception', () => {
    for (const [name, value] of Object.entries(made({ allowLocalBinding: true })))
      if (/no_?proxy/i.test(name)) expect(value).toBe(LOCAL)
  })

  it('P23 addresses of an earlier proxy are replaced, whatever set them', () => {
    const stale = Object.fromEntries([...HTTP_NAMES, ...NO_PROXY_NAMES].map((name) => [name, 'http://127.0.0.1:9']))
    const environment = { ...stale, ...made({}, { inherited: stale, changes: stale }) }
    expect(Object.values(environment).join(' ')).not.toContain('127.0.0.1:9 ')
    expect(environment.HTTPS_PROXY).toBe(HTTP)
  })
})

describe('P31 options of Java', () => {
  const OWN = '-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128'
  it.each([
    ['alone', undefined, `${OWN} -Dhttp.nonProxyHosts=`],
    ['after those of the owner', '-Xmx1g', `-Xmx1g ${OWN} -Dhttp.nonProxyHosts=`],
    [
      'in place of older ones',
      `-Xmx1g ${OWN.replaceAll('3128', '9')} -Dhttp.nonProxyHosts=a|b -ea`,
      `-Xmx1g -ea ${OWN} -Dhttp.nonProxyHosts=`,
    ],
  ])('%s', (_what, current, expected) => {
    expect(made({}, { inherited: { JAVA_TOOL_OPTIONS: current } }).JAVA_TOOL_OPTIONS).toBe(expected)
  })

  it('what was set for the command counts, not what it replaced', () => {
    const changes = { JAVA_TOOL_OPTIONS: '-ea' }
    expect(made({}, { inherited: { JAVA_TOOL_OPTIONS: '-Xmx1g' }, changes }).JAVA_TOOL_OPTIONS).toBe(
      `-ea ${OWN} -Dhttp.nonProxyHosts=`,
    )
    expect(
      made({}, { inherited: { JAVA_TOOL_OPTIONS: '-Xmx1g' }, changes: { JAVA_TOOL_OPTIONS: null } }).JAVA_TOOL_OPTIONS,
    ).toBe(`${OWN} -Dhttp.nonProxyHosts=`)
  })
})

describe('P37 certificates of the child', () => {
  const trustBundlePath = TRUST.pem
  it.each([
    ['unset', {}, {}, trustBundlePath],
    ['inherited', { REQUESTS_CA_BUNDLE: '/corp.pem' }, {}, trustBundlePath],
    [
      'inherited and said again',
      { REQUESTS_CA_BUNDLE: '/corp.pem' },
      { REQUESTS_CA_BUNDLE: '/corp.pem' },
      trustBundlePath,
    ],
    ['set to nothing', {}, { REQUESTS_CA_BUNDLE: '' }, trustBundlePath],
    ['removed', { REQUESTS_CA_BUNDLE: '/corp.pem' }, { REQUESTS_CA_BUNDLE: null }, trustBundlePath],
    ['its own', { REQUESTS_CA_BUNDLE: '/corp.pem' }, { REQUESTS_CA_BUNDLE: '/mine.pem' }, undefined],
  ])('%s', (_what, inherited, changes, expected) => {
    expect(made({ trust: TRUST }, { inherited, changes }).REQUESTS_CA_BUNDLE).toBe(expected)
  })

  it('Java gets a key store, unless it has one', () => {
    const options = (current: string) =>
      made({ trust: TRUST }, { inherited: { JAVA_TOOL_OPTIONS: current } }).JAVA_TOOL_OPTIONS
    expect(options('')).toMatch(
      / -Djavax.net.ssl.trustStore=\/run\/bundle.jks -Djavax.net.ssl.trustStorePassword=changeit$/,
    )
    expect(options('-Djavax.net.ssl.trustStore=/own.jks')).not.toContain('/run/bundle.jks')
  })

  it('wget gets a file of settings, unless it has one', () => {
    expect(made({ trust: TRUST }).WGETRC).toBe('/run/wgetrc')
    expect(made({ trust: TRUST }, { inherited: { WGETRC: '/own' } }).WGETRC).toBeUndefined()
  })

  it('a folder that is in the bundle is not looked at beside it', () => {
    expect(made({ trust: TRUST }, { inherited: { SSL_CERT_DIR: '/certs' } }).SSL_CERT_DIR).toBe('')
    expect(made({ trust: TRUST }, { changes: { SSL_CERT_DIR: '/own' } }).SSL_CERT_DIR).toBeUndefined()
    expect(made({}, { inherited: { SSL_CERT_DIR: '/certs' } }).SSL_CERT_DIR).toBeUndefined()
  })
})

describe('P23 Git over SSH', () => {
  const OWN = `GATEHOUSE_GIT_SSH=1 ssh -o ControlMaster=no -o ControlPath=none -o ProxyCommand='nc -X 5 -x 127.0.0.1:3128 %h %p'`
  it.each([
    ['nothing set', 'darwin', undefined, OWN],
    ['ours, with an old port', 'darwin', OWN.replace('3128', '9'), OWN],
    ["the owner's", 'darwin', 'ssh -i key', undefined],
    ["the owner's, which looks like ours", 'darwin', `ssh -o ProxyCommand='nc -X 5 -x 127.0.0.1:9 %h %p'`, undefined],
    ['another system', 'linux', undefined, undefined],
  ] as const)('%s', (_what, platform, current, expected) => {
    expect(made({}, { platform, inherited: { GIT_SSH_COMMAND: current } }).GIT_SSH_COMMAND).toBe(expected)
  })

  it('without SOCKS is left alone', () => {
    expect(made({ socksUrl: undefined }, { platform: 'darwin' }).GIT_SSH_COMMAND).toBeUndefined()
  })

  it('on Linux goes through socat, where there is one', () => {
    const through = made({}, { platform: 'linux', hasSocat: true }).GIT_SSH_COMMAND
    expect(through).toBe(
      `GATEHOUSE_GIT_SSH=1 ssh -o ControlMaster=no -o ControlPath=none -o ProxyCommand='socat - PROXY:127.0.0.1:%h:%p,proxyport=${new URL(made({}, {}).HTTP_PROXY!).port}'`,
    )
    const old = { GIT_SSH_COMMAND: through!.replace(/proxyport=\d+/, 'proxyport=1') }
    expect(made({}, { platform: 'linux', hasSocat: true, inherited: old }).GIT_SSH_COMMAND).toBe(through)
    expect(made({}, { platform: 'linux', hasSocat: false }).GIT_SSH_COMMAND).toBeUndefined()
    expect(made({}, { platform: 'win32', hasSocat: true }).GIT_SSH_COMMAND).toBeUndefined()
  })
})
