import { join } from 'node:path'
import type {
  ExecServerConfig,
  McpServerConfig,
  NetworkProxyConfig,
  SidecarName,
} from '../../sidecars/protocol/host-channel.ts'
import type { Settings } from '../settings/settings.ts'
import { LiveConfig } from '../sidecar-clients/live-config.ts'
import type { SidecarLink } from '../sidecar-clients/sidecar-link.ts'
import type { Clients } from './follow-sidecars.ts'

const LOOPBACK = '127.0.0.1'
/** As long as a person may be away from the desk for a moment; tools give up later than that. */
const ASK_TIMEOUT_MS = 120_000

/** What the three configurations are made of. */
export interface ConfigSources {
  runDir: string
  agentToken: string
  /** For the owner's clients of the app-server protocol. */
  appServerToken: string
  /** For our own sidecars and runs on the exec server's socket. */
  internalToken: string
  settings(): Settings
  baseEnvironment(): Record<string, string>
  /** The owner's `network.toml`. */
  ownerFile(): NetworkProxyConfig['ownerFile']
  /** What the network proxy is to know of the owner's environment. */
  proxyEnvironment(): Record<string, string>
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
  const { mcpPort, appServerPort, externalAppServer } = sources.settings()
  return {
    socketPath: join(sources.runDir, 'mcp.sock'),
    agentToken: sources.agentToken,
    http: { port: mcpPort },
    appServer: {
      socketPath: join(sources.runDir, 'app-server.sock'),
      ...(appServerPort !== null && { websocket: { port: appServerPort, token: sources.appServerToken } }),
    },
    ...(externalAppServer !== null && {
      externalAppServer: {
        ...externalAppServer,
        ...(externalAppServer.command && { environment: sources.baseEnvironment() }),
      },
    }),
    execServer: { socketPath: sources.execSocket() ?? execSocketPath(sources.runDir), token: sources.internalToken },
  }
}

/** Members that are left out have the proxy's own defaults; rules come beside it. */
export function networkProxyConfigOf(sources: ConfigSources): Partial<NetworkProxyConfig> {
  const { proxyPort, unknownHost, allowLocalBinding, networkMode, inspectHttps } = sources.settings()
  const ownerFile = sources.ownerFile()
  return {
    http: { host: LOOPBACK, port: proxyPort },
    socks: { host: LOOPBACK, port: 0 },
    unknownHost,
    askTimeoutMs: ASK_TIMEOUT_MS,
    allowLocalBinding,
    mode: networkMode,
    inspectHttps,
    ...(ownerFile && { ownerFile }),
    environment: sources.proxyEnvironment(),
  }
}

/** The live configuration of each sidecar. */
export interface SidecarConfigs {
  'exec-server': LiveConfig<ExecServerConfig>
  'mcp-server': LiveConfig<McpServerConfig>
  'network-proxy': LiveConfig<Partial<NetworkProxyConfig>>
}

/** `onRefused`: a sidecar did not take a change, or null when it took the next one. */
export function createConfigs(
  sources: ConfigSources,
  links: Record<SidecarName, SidecarLink>,
  clients: Clients,
  onRefused: (name: SidecarName, message: string | null) => void,
): SidecarConfigs {
  return {
    'exec-server': new LiveConfig({
      link: links['exec-server'],
      make: () => execServerConfigOf(sources),
      send: (config) => clients.exec.configure(config),
      onRefused: (message) => onRefused('exec-server', message),
    }),
    'mcp-server': new LiveConfig({
      link: links['mcp-server'],
      make: () => mcpServerConfigOf(sources),
      send: (config) => clients.mcp.configure(config),
      onRefused: (message) => onRefused('mcp-server', message),
    }),
    'network-proxy': new LiveConfig({
      link: links['network-proxy'],
      make: () => networkProxyConfigOf(sources),
      send: (config) => clients.proxy.configure(config),
      onRefused: (message) => onRefused('network-proxy', message),
    }),
  }
}
