/** `network.toml` in the data folder: what the owner sets beside settings and rules, as the host hands it over. */
import type { NetworkProxyConfig } from '../../protocol/host-channel.ts'
import { ConfigError } from './config-error.ts'
import { networkTable, parseDocument } from './config-file.ts'
import { parseNetworkConfig } from './network-config.ts'

export type OwnerFile = NonNullable<NetworkProxyConfig['ownerFile']>

/** Keys that the file may have, and the members of the configuration that they become. */
const MEMBERS = {
  enable_socks5_udp: 'socksUdp',
  allow_upstream_proxy: 'allowUpstreamProxy',
  dangerously_allow_non_loopback_proxy: 'allowNonLoopback',
  dangerously_allow_all_unix_sockets: 'allowAllUnixSockets',
  unix_sockets: 'unixSockets',
  limited_allows_websocket: 'limitedAllowsWebsocket',
  transparent_tcp: 'transparentTcp',
  mitm: 'mitm',
  mitm_ca: 'mitmCa',
} as const
type Member = (typeof MEMBERS)[keyof typeof MEMBERS]

/** Where the other keys of a configuration file are set under a host. */
const ELSEWHERE: Record<string, string> = {
  enabled: 'is always so under Gatehouse',
  proxy_url: 'is the setting proxyPort in settings.json',
  socks_url: 'is chosen by Gatehouse',
  enable_socks5: 'is always so under Gatehouse',
  mode: 'is the setting networkMode in settings.json',
  allow_local_binding: 'is the setting allowLocalBinding in settings.json',
  domains: 'stands in the files of the rules folder',
  allowed_domains: 'stands in the files of the rules folder',
  denied_domains: 'stands in the files of the rules folder',
}

export type OwnerConfig = Partial<Pick<ReturnType<typeof parseNetworkConfig>, Member>>

/** Only what the file says. @throws ConfigError naming the file, and the line or key */
export function parseOwnerFile({ path, text, problem }: OwnerFile): OwnerConfig {
  if (problem !== undefined) throw new ConfigError(path, problem)
  const table = networkTable(parseDocument(path, text ?? ''))
  try {
    for (const key of Object.keys(Object(table)))
      if (Object.hasOwn(ELSEWHERE, key)) throw new ConfigError(`network.${key}`, `${ELSEWHERE[key]}; remove it here`)
    const config = parseNetworkConfig(table)
    const said: OwnerConfig = {}
    for (const [key, member] of Object.entries(MEMBERS))
      if (Object.hasOwn(Object(table), key)) Object.assign(said, { [member]: config[member] })
    return said
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(path, error.message)
    throw error
  }
}
