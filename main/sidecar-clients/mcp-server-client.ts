import { unknown } from '../../sidecars/protocol/decode.ts'
import type { McpServerConfig } from '../../sidecars/protocol/host-channel.ts'
import { receiveSessions, type SessionNews } from './exec-server-client.ts'
import type { SidecarLink } from './sidecar-link.ts'

/** The host's side of its channel to the MCP server. */
export class McpServerClient {
  constructor(private readonly link: SidecarLink) {}

  receive(news: SessionNews): void {
    receiveSessions(this.link, news)
  }

  configure(config: McpServerConfig): Promise<unknown> {
    return this.link.request('sidecar/configure', { config }, unknown, { timeoutMs: 5_000 })
  }
}
