import { join } from 'node:path'
import { decode } from '../../protocol/decode.ts'
import { listenWhereItWas, portOfEndpoint } from '../../protocol/endpoint-port.ts'
import { CERTIFICATES_FOLDER, execServerConfig, type ExecServerConfig } from '../../protocol/host-channel.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { HostContext, SidecarInstance } from '../../rpc/sidecar.ts'
import { listenUnix } from '../../rpc/unix-socket.ts'
import { readEnvironmentInfo } from '../environment/environment-info.ts'
import { ExecServer, PROCESS_CAPABILITIES } from '../exec-server.ts'
import { openInstanceFolder, sharedParent } from '../life/instance-folder.ts'
import { acceptAttached } from '../listen/attach.ts'
import { capabilityTokenOf } from '../../rpc/authorization.ts'
import { listenWebSocket, type WebSocketListener, type WebSocketListenerOptions } from '../listen/websocket-listener.ts'
import { policyContextOf, registerMethodFamilies } from '../method-families.ts'
import { InheritableEnvironment } from '../processes/child-environment.ts'
import { platformSandbox } from '../sandbox/platform-sandbox.ts'
import { serveOutputPort } from './attach-output.ts'
import { HostGate } from './host-gate.ts'
import { HostProcesses } from './host-processes.ts'

/** Ended processes that the owner can still look at. */
const KEEP_ENDED = 200
/** Part of the time for shutting down that may be used before the host loses patience. */
const SHUTDOWN_SHARE = 0.8

/** Serves the agents of a supervised machine: every command passes the host's gate. */
export async function serveUnderHost({ host, params, onPort }: HostContext): Promise<SidecarInstance> {
  let config = decode(execServerConfig, params.config, 'config')
  const folder = await openInstanceFolder(join(params.dataDir, 'spool'))
  const log = (line: string) => void process.stderr.write(`exec-server: ${line}\n`)
  const gate = new HostGate(host, () => config)
  const facts = new HostProcesses(host)
  const inheritable = new InheritableEnvironment(process.env)
  inheritable.setBase(config.baseEnvironment)
  // The folders of servers that run alone on this machine are closed to commands of this one, too.
  const deniedPaths = [params.dataDir, params.runDir, sharedParent()]
  const environmentInfo = () => readEnvironmentInfo(PROCESS_CAPABILITIES)
  const server: ExecServer = new ExecServer({
    sandbox: platformSandbox({
      folder: folder.path,
      policyContext: policyContextOf(deniedPaths, [join(params.runDir, CERTIFICATES_FOLDER)]),
      searchPath: () => process.env.PATH,
      isNetworkManaged: true,
    }),
    gate,
    folder,
    spoolBytes: config.spoolBytes,
    inheritable,
    environmentInfo,
    registerMore: (methods) =>
      registerMethodFamilies(methods, {
        deniedPaths,
        environmentInfo,
        environment: () => inheritable.get(),
        allowChange: (change, connection) => gate.passChange(change, server.sessions.of(connection).id, connection),
      }),
    log,
    keepEnded: KEEP_ENDED,
    processEvents: facts,
    sessionEvents: facts,
  })
  facts.serve(server)
  onPort((message, port) => serveOutputPort(server.table, message, port))
  const socket = await listenUnix(config.socketPath, (connected) =>
    acceptAttached(
      connected,
      config.internalToken,
      (carrier, name) => server.serve(carrier, { kind: 'internal', name }),
      log,
    ),
  )
  const { listener, warning } = await offerWebSocket(
    config,
    portOfEndpoint(params.previousEndpoints?.ws),
    (carrier, address) => server.serve(carrier, { kind: 'agent', via: 'exec-ws', address }),
  )
  return {
    endpoints: { unix: socket.path, ...(listener ? { ws: listener.url } : {}) },
    warnings: [
      ...folder.swept.map(
        ({ pid }) => `Process ${pid} was left behind by an exec server that was killed; it has been ended.`,
      ),
      ...(warning === undefined ? [] : [warning]),
    ],
    configure: async (raw) => {
      config = changed(config, decode(execServerConfig, raw, 'config'))
      inheritable.setBase(config.baseEnvironment)
    },
    shutdown: async (deadlineMs) => {
      const closing = Promise.all([socket.close(), listener?.close()])
      await server.close('the host shuts down', deadlineMs * SHUTDOWN_SHARE)
      await closing
    },
  }
}

/** A port that cannot be had costs agents the WebSocket; everything else works without it. */
async function offerWebSocket(
  { websocket }: ExecServerConfig,
  previousPort: number,
  onConnection: WebSocketListenerOptions['onConnection'],
): Promise<{ listener?: WebSocketListener; warning?: string }> {
  if (!websocket) return {}
  const { port, token } = websocket
  try {
    const authorize = capabilityTokenOf(token)
    const listen = (at: number) => listenWebSocket({ host: '127.0.0.1', port: at, authorize, onConnection })
    return { listener: await listenWhereItWas(port, previousPort, listen) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const cause = code === 'EADDRINUSE' ? 'another program uses the port' : message
    const next = 'Free it or set another execServerPort (0 picks one), then restart the exec server.'
    return { warning: `Agents cannot connect to ws://127.0.0.1:${port}: ${cause}. ${next}` }
  }
}

/** Where it listens and who may come in is fixed for the life of a sidecar. */
function changed(now: ExecServerConfig, next: ExecServerConfig): ExecServerConfig {
  for (const key of ['socketPath', 'internalToken', 'spoolBytes'] as const) if (now[key] !== next[key]) throw fixed(key)
  if (now.websocket?.port !== next.websocket?.port || now.websocket?.token !== next.websocket?.token)
    throw fixed('websocket')
  return next
}

function fixed(key: string): RpcError {
  return new RpcError('invalidParams', `config.${key} cannot change while the exec server runs; restart it`, { key })
}
