/** Every variable that may name the proxy of a command. */
const PROXY_NAMES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'GATEHOUSE_SOCKS_PROXY',
]
const LOOPBACK = new Set(['127.0.0.1', 'localhost'])

/** The ports of this machine at which the proxies listen that an environment names. */
export function proxyPorts(environment: Readonly<Record<string, string>>): number[] {
  const ports = new Set<number>()
  for (const name of PROXY_NAMES) {
    const port = loopbackPort(environment[name])
    if (port !== undefined) ports.add(port)
  }
  return [...ports]
}

function loopbackPort(text: string | undefined): number | undefined {
  if (!text) return undefined
  try {
    // Without a known scheme URL takes neither host nor port apart.
    const url = new URL(text.replace(/^[a-z0-9+.-]+:\/\//i, 'http://'))
    return LOOPBACK.has(url.hostname) ? Number(url.port || 80) : undefined
  } catch {
    return undefined
  }
}
