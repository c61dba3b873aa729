/** The proxy as a sidecar: rules and leases come from the host, questions and facts go to it. */
import { decode, DecodeError } from '../protocol/decode.ts'
import { portOfEndpoint } from '../protocol/endpoint-port.ts'
import {
  approvalsAnswer,
  leaseGrant,
  leaseRevoke,
  networkProxyConfig,
  rulesSet,
  type NetworkProxyConfig,
} from '../protocol/host-channel.ts'
import { RpcError } from '../rpc/rpc-error.ts'
import type { RpcPeer } from '../rpc/peer.ts'
import type { HostContext, SidecarInstance } from '../rpc/sidecar.ts'
import { UnusableAuthority } from './certificates/own-authority.ts'
import { ConfigError } from './config/config-error.ts'
import { parseOwnerFile, type OwnerConfig } from './config/owner-file.ts'
import { parseInspection } from './inspection/inspection-config.ts'
import type { InspectionSettings } from './inspection/inspection-settings.ts'
import { UnwritableBundle } from './inspection/trust.ts'
import { loadRequirements } from './managed/requirements.ts'
import type { AskHost } from './policy/decider.ts'
import { InvalidRule } from './policy/rule-table.ts'
import { NetworkProxy } from './proxy.ts'
import type { ReportFacts } from './records/connection-log.ts'
import { FixedSetting, type ProxySettings } from './settings.ts'

/** Starts the proxy for a host. Rejects when its configuration or an address cannot be used. */
export async function underHost({ host, params }: HostContext): Promise<SidecarInstance> {
  const config = readConfig(params.config)
  const requirements = await namingFields(() => loadRequirements())
  const proxy = await namingFields(() =>
    namingRules(() =>
      NetworkProxy.start(settingsOf(config), config, {
        askHost: askVia(host),
        report: reportTo(host),
        runDir: params.runDir,
        previousPorts: {
          http: portOfEndpoint(params.previousEndpoints?.http),
          socks: portOfEndpoint(params.previousEndpoints?.socks),
        },
        requirements,
      }),
    ),
  )

  host.onRequest('rules/set', rulesSet, ({ revision, rules }) =>
    namingRules(() => {
      proxy.setRules(revision, rules)
      return { revision: proxy.revision }
    }),
  )
  host.onRequest('leases/grant', leaseGrant, async ({ leaseId, processId, sessionId, command, port, envChanges }) => ({
    environment: await proxy.grantLease(
      { leaseId, sessionId, command, ...(processId === undefined ? {} : { processId }) },
      { port, envChanges },
    ),
  }))
  host.onRequest('leases/revoke', leaseRevoke, async ({ leaseId }) => {
    await proxy.revokeLease(leaseId)
    return {}
  })

  const endpoints: Record<string, string> = {}
  if (proxy.httpUrl !== undefined) endpoints.http = proxy.httpUrl
  if (proxy.socksUrl !== undefined) endpoints.socks = proxy.socksUrl
  return {
    endpoints,
    warnings: proxy.warnings,
    configure: (next) => configure(proxy, next),
    shutdown: (deadlineMs) => proxy.close(Math.min(1000, deadlineMs / 2)),
  }
}

/** Rules come by `rules/set`; this is everything else. */
async function configure(proxy: NetworkProxy, next: unknown): Promise<void> {
  await namingFields(() => proxy.configure(settingsOf(readConfig(next))))
}

/** The error names the setting that cannot be used or changed. */
async function namingFields<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof FixedSetting) throw new RpcError('invalidParams', error.message, { field: error.key })
    if (error instanceof ConfigError) throw new RpcError('invalidParams', error.message, { field: error.field })
    if (error instanceof UnwritableBundle) throw new RpcError('unavailable', error.message, { field: 'mitm' })
    if (error instanceof UnusableAuthority)
      throw new RpcError('invalidParams', error.message, { field: `mitm_ca.${error.field}` })
    throw error
  }
}

function readConfig(config: unknown): NetworkProxyConfig {
  try {
    return decode(networkProxyConfig, config, 'config')
  } catch (error) {
    if (error instanceof DecodeError) throw new RpcError('invalidParams', error.message, { field: error.path })
    throw error
  }
}

/** @throws ConfigError */
function settingsOf(sent: NetworkProxyConfig): ProxySettings {
  const file = sent.ownerFile ? parseOwnerFile(sent.ownerFile) : {}
  const config = { ...sent, ...file }
  return {
    enabled: config.enabled,
    http: config.http,
    socks: config.socks,
    socksUdp: config.socksUdp,
    portFallback: true,
    allowNonLoopback: config.allowNonLoopback,
    allowUpstreamProxy: config.allowUpstreamProxy,
    mode: config.mode,
    allowLocalBinding: config.allowLocalBinding,
    unknownHost: config.unknownHost,
    limitedAllowsWebsocket: config.limitedAllowsWebsocket,
    unixSockets: { allowAll: config.allowAllUnixSockets, paths: config.unixSockets },
    transparentTcp: file.transparentTcp ?? false,
    askTimeoutMs: config.askTimeoutMs,
    environment: sent.environment,
    inspection: inspectionOf(file, sent),
  }
}

function inspectionOf({ mitm, mitmCa }: OwnerConfig, sent: NetworkProxyConfig): InspectionSettings {
  try {
    const settings = parseInspection(mitm, mitmCa, sent.environment)
    return sent.inspectHttps ? { ...settings, everything: true } : settings
  } catch (error) {
    if (error instanceof ConfigError && sent.ownerFile) throw new ConfigError(sent.ownerFile.path, error.message)
    throw error
  }
}

/** Rules are taken whole or not at all; the error names the one that is wrong. */
async function namingRules<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof InvalidRule) throw new RpcError('invalidParams', error.message, { index: error.index })
    throw error
  }
}

function askVia(host: RpcPeer): AskHost {
  return ({ subject, sessionId, attribution }, signal) => {
    const { processId } = attribution
    const origin = { sessionId, ...(processId === undefined ? {} : { processId }) }
    return host.request('approvals/request', { subject, origin, gate: 'ask' }, approvalsAnswer, { signal })
  }
}

function reportTo(host: RpcPeer): ReportFacts {
  return (connections) => {
    if (!host.notify('connections/changed', { connections })) return host.drained()
  }
}
