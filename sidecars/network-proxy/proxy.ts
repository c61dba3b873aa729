/** The network proxy put together: one owner of its listeners, connections, leases and records. */
import { networkInterfaces } from 'node:os'
import type { NetworkRule } from '../protocol/host-channel.ts'
import type { LeaseId } from '../protocol/ids.ts'
import { Admission } from './admission.ts'
import { clampToLoopback } from './config/listen-address.ts'
import type { DialTimes } from './dial/dialer.ts'
import { ParentProxies } from './dial/parent-proxy.ts'
import { bothFamilies, type Resolver } from './dial/resolver.ts'
import { childEnvironment } from './environment/child-environment.ts'
import { isInstalled } from './environment/git-ssh.ts'
import { UpstreamPool } from './http/upstream-pool.ts'
import { Ingress } from './ingress.ts'
import { LeaseRegistry, type Attribution, type Lease } from './leases.ts'
import { HTTP_PORTS, Listener, listenNear, SOCKS_PORTS, type ListenAt, type PortRange } from './listener.ts'
import { LiveConnections } from './live-connections.ts'
import { systemOwnAddresses, type OwnAddresses } from './policy/address-guard.ts'
import { bracketed } from './policy/authority.ts'
import { Decider, type AskHost, type ConnectionDecider } from './policy/decider.ts'
import { Policy } from './policy/policy.ts'
import { InspectionControl } from './inspection/inspection-control.ts'
import type { TrustOptions } from './inspection/trust.ts'
import type { Requirements } from './managed/requirements.ts'
import { restrictRules, restrictSettings } from './managed/restrict.ts'
import { ConnectionLog, type ConnectionLogOptions, type ReportFacts } from './records/connection-log.ts'
import { selfTest, type Trial } from './self-test.ts'
import { reachesUnixSockets, requireLive, type ProxySettings } from './settings.ts'
import type { SocksServing } from './socks/socks-session.ts'
import { UdpAssociation } from './socks/udp-association.ts'
import { TunnelOpener } from './tunnel/tunnel-opener.ts'

/** What the proxy is connected to; tests bring their own. */
export interface ProxySurroundings {
  /** Absent when nobody can be asked. */
  askHost?: AskHost
  /** Absent: nobody reads what became of connections. */
  report?: ReportFacts | undefined
  /** Asked instead of the host. */
  decider?: ConnectionDecider
  onDecision?: ConnectionLogOptions['onDecision']
  /** URL of the proxy that is the only way out, whatever the settings say about parents. */
  throughProxy?: string | undefined
  /** For a proxy that is one of many: its requests to itself would cost each of them, and ask about nothing new. */
  withoutSelfTest?: boolean
  resolver?: Resolver
  nowMs?: () => number
  ownAddresses?: OwnAddresses
  /** Decides whether unix sockets can be reached; that of the process unless a test says otherwise. */
  platform?: NodeJS.Platform
  dialTimes?: DialTimes
  lookupTimeoutMs?: number
  /** Where HTTP_PROXY and its kin are read, when an upstream proxy is allowed. */
  environment?: Record<string, string | undefined>
  /** Where the trust bundle is written; absent: a private folder below the system's temporary one. */
  runDir?: string
  platformRoots?: TrustOptions['platformRoots']
  /** What the administrator of this machine demands. */
  requirements?: Requirements | undefined
  /** Where the proxy before this one listened: a port that the settings leave open is that one, if it is free. */
  previousPorts?: { http?: number; socks?: number }
}

export interface LeaseOptions {
  /** Where a process that outlived an earlier proxy still goes; another one is taken when it cannot be had. */
  port?: number | undefined
  /** What was set (or with null removed) for this process; its own certificates are kept. */
  envChanges?: Record<string, string | null> | undefined
}

/** Time that requests in flight get when the proxy stops. */
const GRACE_MS = 1000
/** The listener of a lease is where it was, or anywhere. */
const NO_RANGE: PortRange = { first: 1, last: 0 }

export class NetworkProxy {
  readonly log: ConnectionLog
  /** Things that do not work or are dangerous, one sentence each. */
  readonly warnings: string[] = []
  private readonly policy: Policy
  private readonly decider: Decider | undefined
  private readonly leases = new LeaseRegistry()
  private readonly live: LiveConnections
  private readonly pool: UpstreamPool
  private readonly ingress: Ingress
  private readonly socks: SocksServing
  private readonly listeners = new Set<Listener>()
  private readonly leaseListeners = new Map<LeaseId, Listener>()
  private httpListener: Listener | undefined
  private socksListener: Listener | undefined
  private readonly surroundingEnvironment: Record<string, string | undefined>
  private readonly throughProxy: string | undefined
  private readonly withoutSelfTest: boolean
  private readonly previousPorts: NonNullable<ProxySurroundings['previousPorts']>
  private readonly inspection: InspectionControl
  private parents: ParentProxies | undefined
  private rules: readonly NetworkRule[] = []
  private closed = false

  private settings: ProxySettings
  private readonly requirements: Requirements | undefined
  private readonly platform: NodeJS.Platform

  private constructor(wanted: ProxySettings, surroundings: ProxySurroundings) {
    const { settings, warnings } = restrictSettings(wanted, surroundings.requirements)
    this.settings = settings
    this.requirements = surroundings.requirements
    this.warnings.push(...warnings)
    const nowMs = surroundings.nowMs ?? Date.now
    const isOwnListener = (address: string, port: number) => this.isOwnListener(address, port)
    this.log = new ConnectionLog({ report: surroundings.report, onDecision: surroundings.onDecision, nowMs })
    this.live = new LiveConnections(nowMs)
    this.pool = new UpstreamPool(nowMs)
    const ownAddresses = surroundings.ownAddresses ?? systemOwnAddresses(nowMs)
    this.policy = new Policy(settings, ownAddresses, undefined, surroundings.platform)
    this.decider = surroundings.askHost && new Decider(surroundings.askHost, { timeoutMs: settings.askTimeoutMs })
    this.surroundingEnvironment = surroundings.environment ?? process.env
    this.throughProxy = surroundings.throughProxy
    this.withoutSelfTest = surroundings.withoutSelfTest ?? false
    this.previousPorts = surroundings.previousPorts ?? {}
    const environment = () => this.environment
    this.platform = surroundings.platform ?? process.platform
    const { runDir, platformRoots } = surroundings
    this.inspection = new InspectionControl({ nowMs, environment, runDir, platformRoots })
    const admission = new Admission({
      policy: this.policy,
      tls: this.inspection.tls,
      decider: surroundings.decider ?? this.decider,
      resolver: surroundings.resolver ?? bothFamilies(),
      isOwnListener,
      ...(surroundings.dialTimes ? { dialTimes: surroundings.dialTimes } : {}),
      ...(surroundings.lookupTimeoutMs === undefined ? {} : { lookupTimeoutMs: surroundings.lookupTimeoutMs }),
      parents: () => this.parents,
    })
    const { leases, live, log, pool } = this
    const tunnels = new TunnelOpener(admission, live, log)
    const udp = {
      associate: (...[control, attribution, { port }]: Parameters<NonNullable<SocksServing['udp']>['associate']>) =>
        new UdpAssociation(control, attribution, { admission, live, log }, port).start(),
    }
    this.socks = { admission, leases, live, log, tunnels, udp: settings.socksUdp ? udp : undefined }
    const { hooks } = this.inspection
    const http = { admission, leases, live, log, pool, tunnels, hooks }
    tunnels.inspector = this.inspection.inspector(http)
    this.ingress = new Ingress({
      http,
      socks: () => (this.settings.socks ? this.socks : undefined),
    })
    this.parents = this.readParents()
  }

  /**
   * Binds the listeners, tests itself, and serves from then on. A disabled proxy binds nothing.
   * Rejects with the operating system's error, or InvalidRule.
   */
  static async start(
    settings: ProxySettings,
    rules: { revision: number; rules: readonly NetworkRule[] },
    surroundings: ProxySurroundings,
  ): Promise<NetworkProxy> {
    const proxy = new NetworkProxy(settings, surroundings)
    try {
      proxy.setRules(rules.revision, rules.rules)
      if (proxy.settings.enabled) await proxy.open()
      return proxy
    } catch (error) {
      await proxy.close(0)
      throw error
    }
  }

  private async open(): Promise<void> {
    const { http, socks } = this.settings
    await this.inspection.apply(this.settings)
    this.warnings.push(...this.inspection.warnings)
    const { previousPorts } = this
    this.httpListener = await this.bind('proxy_url', http, HTTP_PORTS, previousPorts.http)
    if (socks) this.socksListener = await this.bind('socks_url', socks, SOCKS_PORTS, previousPorts.socks)
    // The listeners are known only now, and a parent that is one of them would be a loop.
    this.parents = this.readParents()
    if (reachesUnixSockets(this.settings) && this.platform !== 'darwin')
      this.warnings.push(
        'unix_sockets: unix sockets through the proxy only work on macOS; these entries do nothing here',
      )
    if (this.withoutSelfTest) return
    const problems = await selfTest({ at: this.httpListener, lend: (trial) => this.lend(trial) })
    this.warnings.push(...problems)
  }

  private async bind(key: string, at: ListenAt, range: PortRange, previousPort = 0): Promise<Listener> {
    const { allowNonLoopback, portFallback } = this.settings
    const clamped = clampToLoopback(at, key, {
      allowNonLoopback,
      reachesUnixSockets: reachesUnixSockets(this.settings),
    })
    if (clamped.warning !== undefined) this.warnings.push(clamped.warning)
    const accept = this.acceptFor(undefined)
    if (clamped.at.port === 0 && previousPort !== 0) {
      const again = await Listener.open({ ...clamped.at, port: previousPort }, accept).catch(() => undefined)
      if (again) return this.own(again)
    }
    if (!portFallback) return this.own(await Listener.open(clamped.at, accept))
    const { listener, warning } = await listenNear(clamped.at, range, accept)
    if (warning !== undefined) this.warnings.push(`${key}: ${warning}`)
    return this.own(listener)
  }

  private acceptFor(attribution: Attribution | undefined): Parameters<typeof Listener.open>[1] {
    return (client) => {
      if (this.closed) client.socket.destroy()
      else this.ingress.accept(client, attribution)
    }
  }

  private own(listener: Listener): Listener {
    this.listeners.add(listener)
    return listener
  }

  /** Lends the self-test a session of its own; the function returned takes it back. */
  private lend({ lease, rules }: Trial): () => void {
    this.policy.setRules(this.policy.revision, [...this.rules, ...rules])
    this.leases.grant(lease)
    return () => {
      this.leases.revoke(lease.leaseId)
      this.policy.setRules(this.policy.revision, this.rules)
    }
  }

  private get environment(): Readonly<Record<string, string | undefined>> {
    return this.settings.environment ?? this.surroundingEnvironment
  }

  private readParents(): ParentProxies | undefined {
    const { throughProxy } = this
    if (throughProxy === undefined && !this.settings.allowUpstreamProxy) return undefined
    const isOwn = (host: string, port: number) => this.isOwnListener(host, port)
    const parents =
      throughProxy === undefined
        ? new ParentProxies(this.environment, isOwn)
        : new ParentProxies({ ALL_PROXY: throughProxy }, isOwn, true)
    if (this.httpListener) this.warnings.push(...parents.warnings)
    return parents
  }

  private isOwnListener(address: string, port: number): boolean {
    for (const listener of this.listeners)
      if (listener.port === port && (address === listener.host || isThisMachine(address))) return true
    return false
  }

  /** `http://127.0.0.1:PORT`; undefined while the proxy is disabled. */
  get httpUrl(): string | undefined {
    return this.httpListener && urlOf('http', this.httpListener)
  }

  /** `socks5h://127.0.0.1:PORT`; undefined when SOCKS is off. */
  get socksUrl(): string | undefined {
    return this.socksListener && urlOf('socks5h', this.socksListener)
  }

  get revision(): number {
    return this.policy.revision
  }

  /**
   * Replaces the rules at once. Connections that a rule now denies end; ones that the owner approved
   * and no rule denies go on. @throws InvalidRule and keeps the rules in force
   */
  setRules(revision: number, rules: readonly NetworkRule[]): void {
    const effective = restrictRules(rules, this.requirements)
    this.policy.setRules(revision, effective)
    this.rules = effective
    this.live.recheck(this.policy)
  }

  /**
   * Applies the live part of new settings at once; resolves when certificates for a changed inspection are
   * there. @throws FixedSetting and changes nothing. Rejects like `InspectionControl.apply`
   */
  configure(wanted: ProxySettings): Promise<void> {
    const { settings } = restrictSettings(wanted, this.requirements)
    requireLive(this.settings, settings)
    this.settings = settings
    this.policy.configure(settings)
    this.decider?.configure(settings.askTimeoutMs)
    this.parents = this.readParents()
    this.live.recheck(this.policy)
    return this.inspection.apply(settings)
  }

  /** The file of authorities that clients need; undefined while nothing is inspected. */
  get trustBundlePath(): string | undefined {
    return this.inspection.bundle?.pem
  }

  /**
   * Opens a listener that belongs to one process, so that its connections are attributed whatever the
   * client can do about credentials. Returns the variables for the process.
   */
  async grantLease(lease: Lease, { port = 0, envChanges = {} }: LeaseOptions = {}): Promise<Record<string, string>> {
    this.leases.grant(lease)
    if (!this.httpListener) return {}
    const { listener } = await listenNear({ host: this.httpListener.host, port }, NO_RANGE, this.acceptFor(lease))
    this.own(listener)
    this.leaseListeners.set(lease.leaseId, listener)
    return this.environmentAt(listener, this.settings.socks && listener, envChanges)
  }

  /** The variables for processes that use the listeners of everybody; none while the proxy is disabled. */
  environmentFor(envChanges: Record<string, string | null>): Record<string, string> {
    return this.httpListener ? this.environmentAt(this.httpListener, this.socksListener, envChanges) : {}
  }

  private environmentAt(
    http: Listener,
    socks: Listener | undefined,
    changes: Record<string, string | null>,
  ): Record<string, string> {
    const endpoints = {
      httpUrl: urlOf('http', http),
      socksUrl: socks && urlOf('socks5h', socks),
      allowLocalBinding: this.settings.allowLocalBinding,
      transparentTcp: this.settings.transparentTcp,
      trust: this.inspection.bundle,
      childVariables: this.inspection.childVariables,
    }
    return childEnvironment(endpoints, {
      platform: this.platform,
      hasSocat: isInstalled('socat', process.env.PATH),
      inherited: this.environment,
      changes,
    })
  }

  /** Ends the lease and its connections. */
  async revokeLease(leaseId: LeaseId): Promise<void> {
    this.leases.revoke(leaseId)
    const listener = this.leaseListeners.get(leaseId)
    this.leaseListeners.delete(leaseId)
    this.live.endLease(leaseId)
    if (!listener) return
    this.listeners.delete(listener)
    await listener.close()
  }

  /** Stops accepting, lets requests in flight end for a moment, then ends everything. Idempotent. */
  async close(graceMs = GRACE_MS): Promise<void> {
    if (this.closed) return
    this.closed = true
    await Promise.all([...this.listeners].map((listener) => listener.close()))
    await this.live.close(graceMs)
    this.pool.close()
    await this.inspection.close()
    await this.log.close()
  }
}

function urlOf(scheme: string, { host, port }: Listener): string {
  return `${scheme}://${bracketed(host)}:${port}`
}

function isThisMachine(address: string): boolean {
  if (/^127\.|^::1$|^0\.0\.0\.0$|^::$/.test(address)) return true
  return Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === address))
}
