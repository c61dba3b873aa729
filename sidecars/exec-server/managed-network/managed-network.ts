import type { NetworkProxyLaunch } from '../../protocol/exec-network.ts'
import type { ProcessStartParams, SpawnErrorKind } from '../../protocol/exec-process.ts'
import { TRANSPARENT_TCP_VARIABLE } from '../../protocol/network-variables.ts'
import type { EmbeddedProxy } from '../../network-proxy/embed.ts'
import type { Environment } from '../processes/child-environment.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'
import { unavailable } from '../sandbox/sandbox.ts'
import type { Session } from '../sessions/session.ts'
import { WireError } from '../wire/wire-error.ts'
import { HostQuestions, tellDecision } from './host-questions.ts'
import { hostProxyOf } from './host-proxy.ts'

/** Longest id of a process that asks; the question carries it. */
const MAX_ASKING_ID_BYTES = 256

type Asked = Pick<ProcessStartParams, 'networkProxy' | 'processId'>

/** Who gets a proxy, and where it leads. */
export interface ProxyFor {
  process: ManagedProcess
  session: Session
  launch: NetworkProxyLaunch
  /** The whole environment of the command, as it would be without the proxy. */
  environment: Readonly<Environment>
  /** What a host adds for the command: its proxy is then the only way out. Undefined when nobody supervises. */
  fromHost: Readonly<Environment> | undefined
}

/** Proxies that clients ask for: one for a process, gone when the process has closed. */
export class ManagedNetwork {
  private readonly open = new Set<EmbeddedProxy>()

  /** @param ownEnvironment where proxies above ours are named */
  constructor(private readonly ownEnvironment: () => Readonly<Environment>) {}

  /** @throws WireError for settings that cannot be honoured; to be called before anybody is asked about the command */
  check({ networkProxy, processId }: Asked): void {
    if (!networkProxy) return
    const { proxy, policyDecisionTimeoutMs } = networkProxy
    if (!proxy.enabled) throw invalid('proxy.enabled', 'must be true; leave networkProxy out to start without a proxy')
    if (proxy.transparentTcp && !proxy.enableSocks5)
      throw invalid(
        'proxy.transparentTcp',
        'redirected connections go through SOCKS; set enableSocks5, or leave transparentTcp out',
      )
    const idBytes = Buffer.byteLength(processId)
    if (policyDecisionTimeoutMs !== undefined && (idBytes === 0 || idBytes > MAX_ASKING_ID_BYTES))
      throw invalid(
        'policyDecisionTimeoutMs',
        `needs a processId of 1 to ${MAX_ASKING_ID_BYTES} bytes to ask about, got ${idBytes}`,
      )
    if (Object.keys(proxy.credentialProviders ?? {}).length > 0)
      throw unavailable('networkProxy.proxy.credentialProviders: this exec server does not mask credentials')
  }

  /**
   * Starts the proxy and resolves with the variables that lead the command through it.
   * @throws WireError when it cannot run: the command must not run then
   */
  async launch({ process, session, launch, environment, fromHost }: ProxyFor): Promise<Environment> {
    const { openEmbeddedProxy, UnusableProxySettings } = await import('../../network-proxy/embed.ts')
    const { proxy, policyDecisionTimeoutMs } = launch
    const questions =
      policyDecisionTimeoutMs === undefined ? undefined : new HostQuestions(session, process, policyDecisionTimeoutMs)
    const opened = await openEmbeddedProxy({
      mode: proxy.mode,
      socks: proxy.enableSocks5,
      socksUdp: proxy.enableSocks5 && proxy.enableSocks5Udp,
      allowLocalBinding: proxy.allowLocalBinding,
      // What the host wants for all commands holds where this proxy can do it.
      transparentTcp: proxy.transparentTcp || (proxy.enableSocks5 && fromHost?.[TRANSPARENT_TCP_VARIABLE] === '1'),
      allowUpstreamProxy: proxy.allowUpstreamProxy,
      unixSockets: { allowAll: proxy.dangerouslyAllowAllUnixSockets, paths: proxy.unixSockets ?? {} },
      domains: verdicts(proxy.domains),
      review: proxy.reviewDomains ?? [],
      ...(questions && { ask: (question, signal) => questions.ask(question, signal) }),
      onDecision: (decision) => tellDecision(session, process, decision),
      throughProxy: fromHost && hostProxyOf(fromHost),
      environment: { ...this.ownEnvironment() },
    }).catch((error: unknown) => {
      if (error instanceof UnusableProxySettings) throw invalid(WIRE_NAMES[error.field] ?? error.field, error.message)
      throw new WireError('internal', `the network proxy of the command did not start: ${(error as Error).message}`, {
        kind: 'sandboxUnavailable' satisfies SpawnErrorKind,
      })
    })
    this.keepUntilClosed(opened, process)
    return { ...opened.environment({ ...environment }), ...activeProxyVariables(proxy.allowLocalBinding) }
  }

  private keepUntilClosed(proxy: EmbeddedProxy, process: ManagedProcess): void {
    this.open.add(proxy)
    process.whenOver(() => {
      this.open.delete(proxy)
      void proxy.close()
    })
  }

  async close(): Promise<void> {
    await Promise.all([...this.open].map((proxy) => proxy.close()))
  }
}

/** Members of the launch by the names that the proxy has for its settings. */
const WIRE_NAMES: Record<string, string> = {
  domains: 'proxy.domains',
  review: 'proxy.reviewDomains',
  enabled: 'proxy.enabled',
}

/** Programs that know the reference's executor look for these. */
function activeProxyVariables(allowsLocalBinding: boolean): Environment {
  return { CODEX_NETWORK_PROXY_ACTIVE: '1', CODEX_NETWORK_ALLOW_LOCAL_BINDING: allowsLocalBinding ? '1' : '0' }
}

function verdicts(listed: Readonly<Record<string, 'none' | 'allow' | 'deny'>> = {}): Record<string, 'allow' | 'deny'> {
  const found = Object.entries(listed).filter((entry): entry is [string, 'allow' | 'deny'] => entry[1] !== 'none')
  return Object.fromEntries(found)
}

function invalid(member: string, problem: string): WireError {
  const field = `networkProxy.${member}`
  return new WireError('invalidParams', `${field}: ${problem}`, { field })
}
