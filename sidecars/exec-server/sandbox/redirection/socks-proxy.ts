/** Variables that may name a SOCKS proxy, ours first. */
const NAMES = ['GATEHOUSE_SOCKS_PROXY', 'ALL_PROXY', 'all_proxy']
const LOOPBACK = new Set(['127.0.0.1', 'localhost'])

/** The SOCKS5 proxy on this machine that an environment names, to be asked by name; undefined when it names none. */
export function socksProxyOf(environment: Readonly<Record<string, string>>): URL | undefined {
  for (const name of NAMES) {
    const text = environment[name]
    if (!text || !/^socks5h?:/i.test(text)) continue
    try {
      const url = new URL(text.replace(/^socks5h?:/i, 'socks5h:'))
      if (LOOPBACK.has(url.hostname)) return url
    } catch {
      // Not an address at all.
    }
  }
  return undefined
}
