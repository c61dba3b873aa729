/** The network proxy put together: one owner of its listeners, connections, leases and records. */
import { networkInterfaces } from 'node:os'
import type { NetworkRule } from '../protocol/host-channel.ts'
import type { LeaseId } from '../protocol/ids.ts'
import { Admission } from './admission.ts'
import { bothFamilies, type Resolver } from './dial/resolver.ts'
import { childEnvironment } from './environment/child-environment.ts'
import { ClientSession, type HttpServing } from './http/client-session.ts'
import { UpstreamPool } from './http/upstream-pool.ts'
import { LeaseRegistry, type Attribution, type Lease } from './leases.ts'
import { Listener, type ListenAt } from './listener.ts'
import { LiveConnections } from './live-connections.ts'
import { systemOwnAddresses } from './policy/address-guard.ts'
import { bracketed } from './policy/canonical-host.ts'
import { Decider, type AskHost } from './policy/decider.ts'
import { Policy, type PolicySettings } from './policy/policy.ts'
import { ConnectionLog, type ReportFacts } from './records/connection-log.ts'
import { TunnelOpener } from './tunnel/tunnel-opener.ts'
import type { Socket } from 'node:net'

export interface ProxySettings extends PolicySettings {
  http: ListenAt
  askTimeoutMs: number
}

/** What the proxy is connected to; tests bring their own. */
export interface ProxySurroundings {
  /** Absent when nobody can be asked. */
  askHost?: AskHost
  report: ReportFacts
  resolver?: Resolver
  nowMs?: () => number
}

/** Time that requests in flight get when the proxy stops. */
const GRACE_MS = 1000

export class NetworkProxy {
  readonly log: ConnectionLog
  private readonly policy: Policy
  private readonly decider: Decider | undefined
  private readonly leases = new LeaseRegistry()
  private readonly live: LiveConnections
  private readonly pool: UpstreamPool
  private readonly serving: HttpServing
  private readonly listeners = new Set<Listener>()
  private readonly leaseListeners = new Map<LeaseId, Listener>()
  private httpListener: Listener | undefined
  private closed = false

  private constructor(
    private settings: ProxySettings,
    surroundings: ProxySurroundings,
  ) {
    const nowMs = surroundings.nowMs ?? Date.now
    this.log = new ConnectionLog({ report: surroundings.report, nowMs })
    this.live = new LiveConnections(nowMs)
    this.pool = new UpstreamPool(nowMs)
    this.policy = new Policy(settings, systemOwnAddresses(nowMs))
    this.decider = surroundings.askHost && new Decider(surroundings.askHost, { timeoutMs: settings.askTimeoutMs })
    const admission = new Admission({
      policy: this.policy,
      decider: this.decider,
      resolver: surroundings.resolver ?? bothFamilies(),
      isOwnListener: (address, port) => this.isOwnListener(address, port),
    })
    const tunnels = new TunnelOpener(admission, this.live, this.log)
    this.serving = { admission, leases: this.leases, live: this.live, log: this.log, pool: this.pool, tunnels }
  }

  /** Binds the listeners; the proxy serves from then on. Rejects with the operating system's error. */
  static async start(
    settings: ProxySettings,
    rules: readonly NetworkRule[],
    surroundings: ProxySurroundings,
  ): Promise<NetworkProxy> {
    const proxy = new NetworkProxy(settings, surroundings)
    try {
      proxy.policy.setRules(0, rules)
      if (settings.enabled) proxy.httpListener = await proxy.listen(settings.http, undefined)
      return proxy
    } catch (error) {
      await proxy.close(0)
      throw error
    }
  }

  private async listen(at: ListenAt, attribution: Attribution | undefined): Promise<Listener> {
    const listener = await Listener.open(at, (socket, first) => this.accept(socket, first, attribution))
    this.listeners.add(listener)
    return listener
  }

  private accept(socket: Socket, first: Buffer, attribution: Attribution | undefined): void {
    if (this.closed) return void socket.destroy()
    new ClientSession(socket, this.serving, attribution).start(first)
  }

  private isOwnListener(address: string, port: number): boolean {
    for (const listener of this.listeners)
      if (listener.port === port && (address === listener.address || isThisMachine(address))) return true
    return false
  }

  /** `http://127.0.0.1:PORT`; undefined while the proxy is disabled. */
  get httpUrl(): string | undefined {
    return this.httpListener && urlOf(this.httpListener)
  }

  get revision(): number {
    return this.policy.revision
  }

  /**
   * Replaces the rules at once. Connections that a rule now denies end; ones that the owner approved
   * and no rule denies go on. @throws InvalidRule and keeps the rules in force
   */
  setRules(revision: number, rules: readonly NetworkRule[]): void {
    this.policy.setRules(revision, rules)
    this.live.recheck(this.policy)
  }

  /** Applies the live part of new settings. */
  configure(settings: ProxySettings): void {
    this.settings = settings
    this.policy.configure(settings)
    this.decider?.configure(settings.askTimeoutMs)
    this.live.recheck(this.policy)
  }

  /**
   * Opens a listener that belongs to one process, so that its connections are attributed whatever the
   * client can do about credentials. Returns the variables for the process.
   */
  async grantLease(lease: Lease): Promise<Record<string, string>> {
    this.leases.grant(lease)
    if (!this.httpListener) return {}
    const listener = await this.listen({ host: this.httpListener.address, port: 0 }, lease)
    this.leaseListeners.set(lease.leaseId, listener)
    return childEnvironment({
      httpUrl: urlOf(listener),
      socksUrl: undefined,
      allowLocalBinding: this.settings.allowLocalBinding,
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
    await this.log.close()
  }
}

function urlOf({ address, port }: Listener): string {
  return `http://${bracketed(address)}:${port}`
}

function isThisMachine(address: string): boolean {
  if (/^127\.|^::1$|^0\.0\.0\.0$|^::$/.test(address)) return true
  return Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === address))
}
