import { ExecClient, unixSocketConnector } from '../exec-server/client/index.ts'
import { decode } from '../protocol/decode.ts'
import { listenWhereItWas, portOfEndpoint } from '../protocol/endpoint-port.ts'
import { mcpServerConfig, threadsCall, type McpServerConfig } from '../protocol/host-channel.ts'
import { canonicalSubject } from '../protocol/subject.ts'
import { RpcError } from '../rpc/rpc-error.ts'
import type { HostContext, SidecarInstance } from '../rpc/sidecar.ts'
import { HostedAppServer } from './app-server/hosted-app-server.ts'
import { listenForAttach } from './attach/attach-listener.ts'
import { listenHttp, type HttpListener } from './http/http-listener.ts'
import { ExecClientPort } from './processes/exec-client-port.ts'
import { NoExecPort } from './processes/exec-port.ts'
import { PeerHostLink } from './sessions/host-link.ts'
import { SessionRegistry } from './sessions/session-registry.ts'
import { createAgentServer } from './tools/agent-server.ts'

/**
 * The exec server is on this machine: when its connection ends it has ended, and a new one is there
 * within the supervisor's first back-offs or not soon.
 */
const EXEC_RECOVERY_MS = 5_000

/** Serves agents on the host's behalf until `shutdown`. @throws when the socket cannot be offered */
export async function serveUnderHost({ host, params }: HostContext): Promise<SidecarInstance> {
  const config = decode(mcpServerConfig, params.config, 'config')
  const log = (message: string) => console.error(message)
  const client = config.execServer && execClient(config.execServer, log)
  const exec = client ? new ExecClientPort(client) : new NoExecPort('this host has no exec server')
  const link = new PeerHostLink(host)
  const sessions = new HostedAppServer({
    home: params.dataDir,
    exec: client ?? { start: () => Promise.reject(new RpcError('unavailable', 'this host has no exec server')) },
    host: link,
    send: (method, news) => host.notify('threads/news', { method, params: news }),
    log,
  })
  const threads = () => sessions.parts().then(({ agents }) => agents)
  const registry = new SessionRegistry(link, exec, undefined, undefined, threads)
  const { socketPath, agentToken } = config
  const socket = await listenForAttach({ socketPath, agentToken, registry, log })
  const http = await offerHttp(config, portOfEndpoint(params.previousEndpoints?.http), registry, log)
  const offered = config.appServer ? await sessions.listen(config.appServer) : { endpoints: {}, warnings: [] }
  sessions.useExternal(config.externalAppServer)
  host.onRequest('threads/call', threadsCall, ({ method, params: given }) => sessions.call(method, given))
  return {
    endpoints: { unix: socket.path, ...('url' in http ? { http: http.url } : {}), ...offered.endpoints },
    warnings: [...('problem' in http ? [http.problem] : []), ...offered.warnings],
    configure: async (changed) => {
      const next = decode(mcpServerConfig, changed, 'config')
      refuseChange(config, next)
      sessions.useExternal(next.externalAppServer)
    },
    async shutdown() {
      await registry.dispose('Gatehouse is stopping')
      await sessions.close()
      await Promise.all([socket.close(), 'url' in http ? http.close() : undefined])
      await client?.close('the MCP server is stopping')
    },
  }
}

function execClient({ socketPath, token }: NonNullable<McpServerConfig['execServer']>, log: (m: string) => void) {
  return new ExecClient({
    connect: unixSocketConnector({ path: socketPath, attach: { token, name: 'mcp-server' } }),
    clientName: 'gatehouse-mcp-server',
    recoveryMs: EXEC_RECOVERY_MS,
    onOddity: log,
  })
}

/** Agents can still use the socket when the port is taken, so that is only a warning. */
async function offerHttp(
  { http, agentToken }: McpServerConfig,
  previousPort: number,
  registry: SessionRegistry,
  log: (message: string) => void,
): Promise<HttpListener | { problem: string } | Record<string, never>> {
  if (!http) return {}
  try {
    const listen = (port: number) => listenHttp(port, { agentToken, registry, createServer: createAgentServer, log })
    return await listenWhereItWas(http.port, previousPort, listen)
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

/** Nothing else of this configuration can change while clients are attached. */
function refuseChange(current: McpServerConfig, next: McpServerConfig): void {
  for (const key of Object.keys({ ...current, ...next }) as (keyof McpServerConfig)[])
    if (key !== 'externalAppServer' && canonicalSubject(current[key]) !== canonicalSubject(next[key]))
      throw new RpcError('invalidParams', `config.${key} cannot change while the MCP server runs; restart it`)
}
