/** What one running proxy is set to, whoever configured it. */
import type { ListenAt } from './listener.ts'
import type { InspectionSettings } from './inspection/inspection-settings.ts'
import type { PolicySettings } from './policy/policy.ts'

export interface ProxySettings extends PolicySettings {
  http: ListenAt
  /** Undefined when SOCKS is off. */
  socks: ListenAt | undefined
  socksUdp: boolean
  /** A taken port is replaced by another one, with a warning; otherwise it is an error. */
  portFallback: boolean
  allowNonLoopback: boolean
  allowUpstreamProxy: boolean
  /** Whoever starts commands behind walls is to redirect their connections to the SOCKS port. */
  transparentTcp: boolean
  askTimeoutMs: number
  /** Authorities and parent proxies that the owner's environment names; absent: that of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Absent: HTTPS is inspected where limited mode needs it, and nowhere else. */
  inspection?: InspectionSettings
}

/** A change that a running proxy cannot make. */
export class FixedSetting extends Error {
  constructor(readonly key: string) {
    super(`cannot update network.${key} on a running proxy; restart it`)
    this.name = 'FixedSetting'
  }
}

/** @throws FixedSetting naming the first key that differs and cannot change while the proxy runs */
export function requireLive(now: ProxySettings, next: ProxySettings): void {
  if (now.enabled !== next.enabled) throw new FixedSetting('enabled')
  if (!sameAddress(now.http, next.http)) throw new FixedSetting('proxy_url')
  if ((now.socks === undefined) !== (next.socks === undefined)) throw new FixedSetting('enable_socks5')
  if (now.socks && next.socks && !sameAddress(now.socks, next.socks)) throw new FixedSetting('socks_url')
  if (now.socksUdp !== next.socksUdp) throw new FixedSetting('enable_socks5_udp')
}

function sameAddress(a: ListenAt, b: ListenAt): boolean {
  return a.host === b.host && a.port === b.port
}

export function reachesUnixSockets({ unixSockets }: ProxySettings): boolean {
  return unixSockets.allowAll || Object.values(unixSockets.paths).includes('allow')
}
