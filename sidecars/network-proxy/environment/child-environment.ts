/** Variables that lead the tools of a child process through the proxy. */

export interface ProxyEndpoints {
  /** `http://127.0.0.1:PORT`, with the lease as user when the listener is shared. */
  httpUrl: string
  /** `socks5h://…`; absent when SOCKS is off. */
  socksUrl: string | undefined
  allowLocalBinding: boolean
}

/** Every tool reads another spelling; all of them get the same value. */
const HTTP_PROXY_NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY', 'all_proxy'] as const

export function childEnvironment({ httpUrl, socksUrl, allowLocalBinding }: ProxyEndpoints): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of HTTP_PROXY_NAMES) environment[name] = httpUrl
  // Hosts that a rule allows never stand here: a client that bypasses the proxy hits the sandbox instead.
  environment.NO_PROXY = environment.no_proxy = ''
  environment.NODE_USE_ENV_PROXY = '1'
  environment.GATEHOUSE_NETWORK_PROXY = '1'
  environment.GATEHOUSE_ALLOW_LOCAL_BINDING = allowLocalBinding ? '1' : '0'
  if (socksUrl !== undefined) environment.GATEHOUSE_SOCKS_PROXY = socksUrl
  return environment
}
