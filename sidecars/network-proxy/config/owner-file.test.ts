import { describe, expect, it } from 'vitest'
import { parseOwnerFile } from './owner-file.ts'

const PATH = '/data/network.toml'
const read = (text: string) => parseOwnerFile({ path: PATH, text })

describe('network.toml', () => {
  it.each([
    ['', {}],
    ['[network]\nenable_socks5_udp = true\n', { socksUdp: true }],
    [
      'allow_upstream_proxy = true\nlimited_allows_websocket = true\n',
      { allowUpstreamProxy: true, limitedAllowsWebsocket: true },
    ],
    ['[unix_sockets]\n"/var/run/docker.sock" = "allow"\n', { unixSockets: { '/var/run/docker.sock': 'allow' } }],
    ['dangerously_allow_non_loopback_proxy = true', { allowNonLoopback: true }],
    ['dangerously_allow_all_unix_sockets = true', { allowAllUnixSockets: true }],
    ['[mitm]\nversion = 2\nexclude = ["a.test"]\n', { mitm: { version: 2, exclude: ['a.test'] } }],
    [
      '[mitm_ca]\ncertificate_file = "/a"\nprivate_key_file = "/b"\n',
      { mitmCa: { certificate_file: '/a', private_key_file: '/b' } },
    ],
    ['transparent_tcp = false', { transparentTcp: false }],
    ['{"mitm": {"version": 1}}', { mitm: { version: 1 } }],
  ])('%j says only what stands in it', (text, config) => {
    expect(read(text)).toEqual(config)
  })

  it.each([
    ['mode = "limited"', 'network.mode: is the setting networkMode in settings.json; remove it here'],
    ['enabled = false', 'network.enabled: is always so under Gatehouse; remove it here'],
    ['proxy_url = "http://127.0.0.1:1"', 'network.proxy_url: is the setting proxyPort'],
    ['allow_local_binding = true', 'network.allow_local_binding: is the setting allowLocalBinding'],
    ['[domains]\n"a.test" = "allow"', 'network.domains: stands in the files of the rules folder'],
    ['mtim = 1', 'network.mtim: unknown key'],
    ['credential_broker = true', 'network.credential_broker: this name is reserved'],
    ['enable_socks5_udp = 1', 'network.enable_socks5_udp: expected true or false'],
    ['[unix_sockets]\n"relative" = "allow"', 'expected an absolute path'],
  ])('%j names the file, the key and what to do', (text, message) => {
    expect(() => read(text)).toThrow(`${PATH}: ${message.startsWith('network') ? message : ''}`)
    expect(() => read(text)).toThrow(message)
  })

  it('what is no TOML is named with its line', () => {
    expect(() => read('mitm = {}\nmode =\n')).toThrow(/^\/data\/network\.toml:2: /)
  })

  it('one that cannot be read is an error, not an absent one', () => {
    expect(() => parseOwnerFile({ path: PATH, problem: 'cannot be read: permission is missing (EACCES)' })).toThrow(
      '/data/network.toml: cannot be read: permission is missing (EACCES)',
    )
  })
})
