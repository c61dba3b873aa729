/** A running proxy for tests: real sockets, stubbed names, nobody asked unless the test says so. */
import { onTestFinished } from 'vitest'
import type { ConnectionFacts, NetworkRule } from '../../protocol/host-channel.ts'
import type { RuleId } from '../../protocol/ids.ts'
import { NetworkProxy, type ProxySurroundings } from '../proxy.ts'
import type { ProxySettings } from '../settings.ts'

export const SETTINGS: ProxySettings = {
  enabled: true,
  http: { host: '127.0.0.1', port: 0 },
  socks: { host: '127.0.0.1', port: 0 },
  socksUdp: true,
  portFallback: false,
  allowNonLoopback: false,
  allowUpstreamProxy: false,
  mode: 'full',
  allowLocalBinding: false,
  unknownHost: 'block',
  limitedAllowsWebsocket: false,
  unixSockets: { allowAll: false, paths: {} },
  transparentTcp: false,
  askTimeoutMs: 5000,
}

/** `allow x.test` or `deny *.x.test:443`, as a rule. */
export function rule(text: string, more: Partial<NetworkRule> = {}): NetworkRule {
  const [verdict, pattern] = text.split(' ') as ['allow' | 'deny', string]
  return { id: `rul_${text}` as RuleId, pattern, verdict, scope: 'always', ...more }
}

export const rules = (...texts: string[]): NetworkRule[] => texts.map((text) => rule(text))

export interface ProxyFixture {
  proxy: NetworkProxy
  httpPort: number
  socksPort: number
  /** Names that were looked up, in order. */
  lookups: string[]
  /** Latest facts by connection, in the order in which connections appeared. */
  facts(): ConnectionFacts[]
  /** Resolves when facts that satisfy `predicate` have been reported. */
  factsWhere(predicate: (facts: ConnectionFacts) => boolean): Promise<ConnectionFacts>
}

export interface FixtureOptions extends Partial<ProxySurroundings> {
  settings?: Partial<ProxySettings>
  rules?: NetworkRule[]
  /** Addresses by name; a name that is not here does not resolve. */
  names?: Record<string, string[]>
}

/** Starts a proxy that the running test owns. */
export async function startProxy(options: FixtureOptions = {}): Promise<ProxyFixture> {
  const { settings, rules: given = [], names = {}, ...surroundings } = options
  const lookups: string[] = []
  const latest = new Map<string, ConnectionFacts>()
  const watchers = new Set<() => void>()
  const proxy = await NetworkProxy.start(
    { ...SETTINGS, ...settings },
    { revision: 1, rules: given },
    {
      resolver: (host) => {
        lookups.push(host)
        const found = names[host]
        return found ? Promise.resolve(found) : Promise.reject(Object.assign(new Error(host), { code: 'ENOTFOUND' }))
      },
      report: (batch) => {
        for (const facts of batch) latest.set(facts.id, facts)
        for (const watcher of watchers) watcher()
      },
      ownAddresses: () => new Set(),
      environment: {},
      ...surroundings,
    },
  )
  onTestFinished(() => proxy.close(0))
  const facts = () => [...latest.values()]
  return {
    proxy,
    httpPort: portOf(proxy.httpUrl),
    socksPort: portOf(proxy.socksUrl),
    lookups,
    facts,
    factsWhere: (predicate) =>
      new Promise((resolve) => {
        const look = () => {
          const found = facts().find(predicate)
          if (!found) return
          watchers.delete(look)
          resolve(found)
        }
        watchers.add(look)
        look()
      }),
  }
}

function portOf(url: string | undefined): number {
  return url === undefined ? 0 : Number(new URL(url).port)
}
