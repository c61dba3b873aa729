import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { decode } from '../../protocol/decode.ts'
import { execServerConfig, type ExecServerConfig } from '../../protocol/host-channel.ts'
import type { HostContext, SidecarInstance } from '../../rpc/sidecar.ts'
import { listenUnix } from '../../rpc/unix-socket.ts'
import { readEnvironmentInfo } from '../environment/environment-info.ts'
import { ExecServer } from '../exec-server.ts'
import { capabilityTokenOf } from '../listen/authorization.ts'
import { acceptAttached } from '../listen/attach.ts'
import { listenWebSocket } from '../listen/websocket-listener.ts'
import { registerMethodFamilies } from '../method-families.ts'
import { inheritableEnvironment } from '../processes/child-environment.ts'
import { noSandbox } from '../sandbox/sandbox.ts'
import { HostGate } from './host-gate.ts'
import { HostProcesses } from './host-processes.ts'

/** Serves the agents of a supervised machine: every command passes the host's gate. */
export async function serveUnderHost({ host, params }: HostContext): Promise<SidecarInstance> {
  let config: ExecServerConfig = decode(execServerConfig, params.config, 'config')
  const folder = join(params.dataDir, 'spool')
  // Output of an earlier generation belongs to processes that nobody can ask for any more.
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const log = (line: string) => console.error(`exec-server: ${line}`)
  const inheritable = () => inheritableEnvironment(process.env, config.baseEnvironment)
  const facts = new HostProcesses(host)
  const server = new ExecServer({
    sandbox: noSandbox,
    gate: new HostGate(host, () => config),
    spool: { folder, limitBytes: config.spoolBytes },
    inheritable,
    environmentInfo: async () => readEnvironmentInfo(),
    registerMore: (methods) =>
      registerMethodFamilies(methods, { deniedPaths: [params.dataDir], environment: inheritable }),
    log,
    processEvents: facts,
    sessionEvents: facts,
  })
  facts.serve(server)
  const socket = await listenUnix(config.socketPath, (connected) =>
    acceptAttached(
      connected,
      config.internalToken,
      (carrier, name) => server.serve(carrier, { kind: 'internal', name }),
      log,
    ),
  )
  const { websocket } = config
  const listener = websocket
    ? await listenWebSocket({
        host: '127.0.0.1',
        port: websocket.port,
        authorize: capabilityTokenOf(websocket.token),
        onConnection: (carrier, address) => server.serve(carrier, { kind: 'agent', via: 'exec-ws', address }),
      })
    : undefined
  return {
    endpoints: { unix: socket.path, ...(listener ? { ws: listener.url } : {}) },
    warnings: [],
    configure: async (raw) => {
      config = decode(execServerConfig, raw, 'config')
    },
    shutdown: async () => {
      server.close('the host shuts down')
      await Promise.all([socket.close(), listener?.close()])
    },
  }
}
