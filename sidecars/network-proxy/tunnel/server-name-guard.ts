/**
 * Holds the first bytes of an opaque tunnel back until the TLS server name in them is known to be
 * allowed: a tunnel to an allowed host must not reach another one behind the same address.
 */
import { canonicalHost, InvalidHost } from '../../protocol/host-pattern.ts'
import { readClientHello } from './client-hello.ts'

export type PeekResult =
  | { kind: 'wait' }
  /** Everything seen so far may go on, and what follows needs no look. */
  | { kind: 'pass'; bytes: Buffer }
  /** `serverName` is not allowed here, or the hello cannot be read. */
  | { kind: 'refuse'; serverName: string | undefined }

export class ServerNameGuard {
  private held: Buffer[] = []

  constructor(
    private readonly tunnelHost: string,
    /** Whether the policy allows this canonical name on the tunnel's port, without asking anybody. */
    private readonly isAllowed: (host: string) => boolean,
  ) {}

  push(bytes: Buffer): PeekResult {
    this.held.push(bytes)
    const all = this.held.length === 1 ? bytes : Buffer.concat(this.held)
    const hello = readClientHello(all)
    switch (hello.kind) {
      case 'incomplete':
        return { kind: 'wait' }
      case 'not-tls':
        return this.pass(all)
      case 'malformed':
        return { kind: 'refuse', serverName: undefined }
      case 'hello':
        return hello.serverName === undefined || this.permits(hello.serverName)
          ? this.pass(all)
          : { kind: 'refuse', serverName: hello.serverName }
    }
  }

  /** The client ended its side: what is held cannot become a hello any more. */
  flush(): Buffer {
    const all = Buffer.concat(this.held)
    this.held = []
    return all
  }

  private pass(bytes: Buffer): PeekResult {
    this.held = []
    return { kind: 'pass', bytes }
  }

  private permits(serverName: string): boolean {
    try {
      const host = canonicalHost(serverName)
      return host === this.tunnelHost || this.isAllowed(host)
    } catch (error) {
      if (error instanceof InvalidHost) return false
      throw error
    }
  }
}
