import { join } from 'node:path'
import type {
  ExecServerConfig,
  McpServerConfig,
  NetworkProxyConfig,
  NetworkRule,
} from '../../sidecars/protocol/host-channel.ts'
import type { Settings } from '../settings/settings.ts'

const LOOPBACK = '127.0.0.1'
/** As long as a person may be away from the desk for a moment; tools give up later than that. */
const ASK_TIMEOUT_MS = 120_000

/** What the three configurations are made of. */
export interface ConfigSources {
  runDir: string
  agentToken: string
  /** For our own sidecars and runs on the exec server's socket. */
  internalToken: string
  settings(): Settings
  baseEnvironment(): Record<string, string>
  /** Where the exec server says it can be reached; null while it never was. */
  execSocket(): string | null
}

export const execSocketPath = (runDir: string): string => join(runDir, 'exec.sock')

export function execServerConfigOf(sources: ConfigSources): ExecServerConfig {
  const { execServerPort, agentGate, spoolBytes } = sources.settings()
  return {
    socketPath: execSocketPath(sources.runDir),
    internalToken: sources.internalToken,
    websocket: { port: execServerPort, token: sources.agentToken },
    agentGate,
    spoolBytes,
    baseEnvironment: sources.baseEnvironment(),
  }
}

export function mcpServerConfigOf(sources: ConfigSources): McpServerConfig {
  return {
    socketPath: join(sources.runDir, 'mcp.sock'),
    agentToken: sources.agentToken,
    http: { port: sources.settings().mcpPort },
    execServer: { socketPath: sources.execSocket() ?? execSocketPath(sources.runDir), token: sources.internalToken },
  }
}

/** Members that are left out have the proxy's own defaults. */
export function networkProxyConfigOf(
  sources: ConfigSources,
  start: { rules: NetworkRule[]; revision: number },
): Partial<NetworkProxyConfig> {
  const { proxyPort, unknownHost, allowLocalBinding } = sources.settings()
  return {
    http: { host: LOOPBACK, port: proxyPort },
    socks: { host: LOOPBACK, port: 0 },
    unknownHost,
    askTimeoutMs: ASK_TIMEOUT_MS,
    allowLocalBinding,
    ...start,
  }
}
