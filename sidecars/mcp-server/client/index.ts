/** What the host's command line uses to connect agents to the MCP server. */
export { Relay, type RelayOptions } from './relay.ts'
export type { AttachPoint } from './upstream.ts'
