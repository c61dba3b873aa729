/** Variables that lead the tools of a child process through the proxy. */
import { TRANSPARENT_TCP_VARIABLE } from '../../protocol/network-variables.ts'
import type { BundleFiles } from '../certificates/trust-bundle.ts'
import { JAVA_OPTIONS, javaOptions } from './java-options.ts'
import { gitSshCommand, isOwnGitSshCommand } from './git-ssh.ts'
import { CA_VARIABLES, HTTP_PROXY_VARIABLES, NO_PROXY_VARIABLES, SOCKS_PROXY_VARIABLES } from './variables.ts'

export interface ProxyEndpoints {
  /** `http://127.0.0.1:PORT`. */
  httpUrl: string
  /** `socks5h://…`; absent when SOCKS is off. */
  socksUrl: string | undefined
  allowLocalBinding: boolean
  /** Connections of the child are to be redirected to SOCKS; of no effect without it. */
  transparentTcp?: boolean
  /** Files of authorities; absent while nothing is inspected. */
  trust?: BundleFiles | undefined
  /** What the child gets in place of variables whose values hooks put into requests. */
  childVariables?: ReadonlyMap<string, string>
}

/** What the child would have without the proxy. */
export interface ChildContext {
  platform: NodeJS.Platform
  /** `socat` is there to lead SSH through the proxy. */
  hasSocat?: boolean
  /** The environment in which the proxy, and everything else of the owner's, was started. */
  inherited: Record<string, string | undefined>
  /** What was set (or with null removed) for this command. */
  changes: Record<string, string | null>
}

const LOCAL_ADDRESSES = 'localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16'

/**
 * The variables to lay over a child's environment. Proxy addresses always replace what was there, because
 * a client that goes around the proxy ends at the sandbox; certificates that were named for this very
 * command stay, and options of Java and Git are added to.
 */
export function childEnvironment(endpoints: ProxyEndpoints, child: ChildContext): Record<string, string> {
  const {
    httpUrl,
    socksUrl,
    allowLocalBinding,
    transparentTcp,
    trust,
    childVariables = new Map<string, string>(),
  } = endpoints
  const environment: Record<string, string> = {}
  for (const name of HTTP_PROXY_VARIABLES) environment[name] = httpUrl
  for (const name of SOCKS_PROXY_VARIABLES) environment[name] = socksUrl ?? httpUrl
  // Hosts that a rule allows never stand here: a client that bypasses the proxy hits the sandbox instead.
  for (const name of NO_PROXY_VARIABLES) environment[name] = allowLocalBinding ? LOCAL_ADDRESSES : ''
  Object.assign(environment, {
    ELECTRON_GET_USE_PROXY: 'true',
    NODE_USE_ENV_PROXY: '1',
    GATEHOUSE_NETWORK_PROXY: '1',
    GATEHOUSE_ALLOW_LOCAL_BINDING: allowLocalBinding ? '1' : '0',
    ...googleCloudProxy(httpUrl),
  })
  if (socksUrl !== undefined) environment.GATEHOUSE_SOCKS_PROXY = socksUrl
  if (socksUrl !== undefined && transparentTcp) environment[TRANSPARENT_TCP_VARIABLE] = '1'
  const keystore = trust?.keystore
  environment[JAVA_OPTIONS] = javaOptions(valueOf(child, JAVA_OPTIONS), { httpUrl, allowLocalBinding, keystore })
  addGitSsh(environment, endpoints, child)
  if (trust) addTrust(environment, trust, child)
  for (const [name, value] of childVariables) environment[name] = value
  return environment
}

function googleCloudProxy(httpUrl: string): Record<string, string> {
  const { hostname, port } = new URL(httpUrl)
  return { CLOUDSDK_PROXY_TYPE: 'http', CLOUDSDK_PROXY_ADDRESS: hostname, CLOUDSDK_PROXY_PORT: port }
}

function addGitSsh(
  environment: Record<string, string>,
  { httpUrl, socksUrl }: ProxyEndpoints,
  child: ChildContext,
): void {
  const { platform, hasSocat = false } = child
  const command = gitSshCommand({ platform, httpUrl, socksUrl, hasSocat })
  const current = valueOf(child, 'GIT_SSH_COMMAND')
  if (command !== undefined && (!current || isOwnGitSshCommand(current))) environment.GIT_SSH_COMMAND = command
}

/** The bundle contains what the environment named at the start; what this command names for itself stays. */
function addTrust(environment: Record<string, string>, trust: BundleFiles, child: ChildContext): void {
  const { inherited, changes } = child
  for (const name of CA_VARIABLES) {
    const own = changes[name]
    if (!own || own === inherited[name]) environment[name] = trust.pem
  }
  // Its contents are in the bundle, and it would be looked at beside it.
  if (!valueOf(child, 'WGETRC')) environment.WGETRC = trust.wgetrc
  if (!changes.SSL_CERT_DIR && inherited.SSL_CERT_DIR) environment.SSL_CERT_DIR = ''
}

function valueOf({ inherited, changes }: ChildContext, name: string): string | undefined {
  const changed = changes[name]
  return changed === undefined ? inherited[name] : (changed ?? undefined)
}
