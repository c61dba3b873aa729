/** From an admitted destination to a connection, directly or through a parent proxy. */
import type { ClientPresence } from '../client-presence.ts'
import { formatAuthority } from '../policy/authority.ts'
import type { Destination } from '../policy/rule-table.ts'
import { connectThrough } from './connect-through.ts'
import { describeFailure, dial, DialFailed, type DialTimes } from './dialer.ts'
import type { ParentRoute } from './parent-proxy.ts'
import { addressesWithoutLookup, ResolveFailed, resolveWithin, type Resolver } from './resolver.ts'
import { describeTlsFailure } from '../inspection/tls-failure.ts'
import type { TlsDialOptions } from './tls-handshake.ts'
import { TlsUpstream } from './tls-upstream.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

export interface RouteOptions {
  resolver: Resolver
  lookupTimeoutMs: number
  dialTimes: DialTimes
  tls: TlsDialOptions
}

export interface Opened {
  upstream: UpstreamConnection
  /** Bytes of the destination that came with the parent's answer. */
  early: Buffer | undefined
}

export class Routes {
  constructor(private readonly options: RouteOptions) {}

  /** Dials judged addresses; with `tls` handshakes with the destination's host. @throws DialFailed */
  async direct(
    addresses: readonly string[],
    destination: Destination,
    tls: boolean,
    presence: ClientPresence,
  ): Promise<Opened> {
    const upstream = await dial(addresses, destination.port, presence, this.options.dialTimes)
    return { upstream: tls ? await this.secure(upstream, destination.host) : upstream, early: undefined }
  }

  /** Connects to a unix socket whose path was judged. @throws DialFailed */
  async unixSocket(path: string, presence: ClientPresence): Promise<Opened> {
    return { upstream: await dial([path], 0, presence, this.options.dialTimes), early: undefined }
  }

  /**
   * Connects to a parent proxy; with `tunnel` also through it. The owner configured the parent, so its
   * address is not judged. @throws DialFailed naming the parent
   */
  async throughParent(
    parent: ParentRoute,
    destination: Destination,
    how: { tunnel: boolean; tls: boolean },
    presence: ClientPresence,
  ): Promise<Opened> {
    const upstream = await this.dialParent(parent, presence)
    if (!how.tunnel) return { upstream, early: undefined }
    const early = await connectThrough(upstream, parent, destination, presence)
    if (!how.tls) return { upstream, early: early.length === 0 ? undefined : early }
    return { upstream: await this.secure(upstream, destination.host), early: undefined }
  }

  private async dialParent(parent: ParentRoute, presence: ClientPresence): Promise<UpstreamConnection> {
    const name = formatAuthority(parent.host, parent.port)
    try {
      const { resolver, lookupTimeoutMs, dialTimes } = this.options
      const addresses =
        addressesWithoutLookup(parent.host) ?? (await resolveWithin(resolver, parent.host, lookupTimeoutMs))
      const upstream = await dial(addresses, parent.port, presence, dialTimes)
      return parent.tls ? await this.secure(upstream, parent.host) : upstream
    } catch (error) {
      if (error instanceof ResolveFailed) throw new DialFailed('ENOTFOUND', `parent proxy ${name}: ${error.message}`)
      if (error instanceof DialFailed)
        throw new DialFailed(error.code, describeFailure(`parent proxy ${name}`, error.code))
      throw error
    }
  }

  private async secure(raw: UpstreamConnection, host: string): Promise<UpstreamConnection> {
    const { address, port } = raw
    try {
      return await TlsUpstream.open(raw, host, this.options.tls)
    } catch (error) {
      throw tlsFailure(host, formatAuthority(address, port), error as NodeJS.ErrnoException)
    }
  }
}

/** A failed handshake with `host`, reached at `hop`. */
export function tlsFailure(host: string, hop: string, error: NodeJS.ErrnoException): DialFailed {
  return new DialFailed(error.code ?? 'ETLS', describeTlsFailure(host, hop, error))
}
