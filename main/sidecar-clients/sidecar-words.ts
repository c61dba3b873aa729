import type { SidecarName } from '../../sidecars/protocol/host-channel.ts'

/** How a sidecar is called in a sentence. */
export const SIDECAR_WORDS: Record<SidecarName, string> = {
  'exec-server': 'the exec server',
  'mcp-server': 'the MCP server',
  'network-proxy': 'the network proxy',
}
