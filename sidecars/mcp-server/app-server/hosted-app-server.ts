/** The app server inside the MCP server: it listens at once and is made when somebody first wants it. */
import type { ExternalAppServer, McpServerConfig } from '../../protocol/host-channel.ts'
import type { Transport } from '../../rpc/transport.ts'
import type { SessionServer } from '../../protocol/owner-threads.ts'
import type { ExternalThreads } from './external/external-threads.ts'
import type { HostedOptions, HostedParts } from './hosted-parts.ts'
import { capabilityTokenOf, type Authorize } from '../../rpc/authorization.ts'
import { listen, type Listener } from './listen.ts'

const OWN_SERVER: SessionServer = {
  kind: 'own',
  name: 'Gatehouse',
  address: '',
  state: 'ready',
  life: 0,
  problem: null,
}

/** Owned by the sidecar. */
export class HostedAppServer {
  private made: Promise<HostedParts> | null = null
  private readonly listeners: Listener[] = []
  private external: Promise<ExternalThreads> | null = null
  private externalKey = 'null'

  constructor(private readonly options: HostedOptions) {}

  /**
   * Listens where the configuration says. Resolves with the addresses and with what could not be offered.
   */
  async listen({
    socketPath,
    websocket,
  }: NonNullable<McpServerConfig['appServer']>): Promise<{ endpoints: Record<string, string>; warnings: string[] }> {
    const onConnection = (transport: Transport): void => void this.serve(transport)
    const endpoints: Record<string, string> = {}
    const warnings: string[] = []
    const offer = async (name: string, address: Parameters<typeof listen>[0], authorize: Authorize) => {
      try {
        const listener = await listen(address, { authorize, onConnection })
        this.listeners.push(listener)
        endpoints[name] = listener.url
      } catch (error) {
        warnings.push(`Clients of the app-server protocol cannot connect here: ${(error as Error).message}`)
      }
    }
    // Who can open the socket is the owner: the folder is theirs and closed to every sandbox.
    await offer('appServer', { kind: 'unix', path: socketPath }, () => undefined)
    if (websocket)
      await offer(
        'appServerWs',
        { kind: 'ws', host: '127.0.0.1', port: websocket.port },
        capabilityTokenOf(websocket.token),
      )
    return { endpoints, warnings }
  }

  /** Uses another server for the window's sessions, or none but our own. Nothing happens while it stays the same. */
  useExternal(server: ExternalAppServer | undefined): void {
    const { environment: _, ...place } = server ?? {}
    const key = JSON.stringify(server ? place : null)
    // Another environment alone is for the next start of the command, not a reason to end the one that runs.
    if (key === this.externalKey) {
      if (server) void this.external?.then((threads) => threads.update(server))
      return
    }
    this.externalKey = key
    this.external?.then((threads) => threads.close()).catch(() => undefined) // It was never made.
    const { host, send, log } = this.options
    this.external =
      server === undefined
        ? null
        : import('./external/external-threads.ts').then(
            ({ ExternalThreads }) => new ExternalThreads({ server, host, send, log }),
          )
    if (server === undefined) send('gatehouse/server/changed', { server: OWN_SERVER })
  }

  /** One call of the owner's own client. */
  async call(method: string, params: unknown): Promise<unknown> {
    const external = await this.external
    if (method === 'gatehouse/server/read') return external?.view() ?? OWN_SERVER
    if (external && !(await this.isOurs(method, params))) return external.call(method, params)
    return (await this.parts()).client.call(method, params)
  }

  /** Our configuration, and what is open in our own server, stay ours whatever server is used. */
  private async isOurs(method: string, params: unknown): Promise<boolean> {
    if (/^(?:config|modelProvider|gatehouse\/provider)\//.test(method)) return true
    const { threadId } = (params ?? {}) as { threadId?: unknown }
    return typeof threadId === 'string' && this.made !== null && (await this.made).sessions.has(threadId)
  }

  /** The server itself, made if need be. */
  parts(): Promise<HostedParts> {
    return (this.made ??= import('./hosted-parts.ts').then(({ createHostedParts }) => createHostedParts(this.options)))
  }

  async close(): Promise<void> {
    await Promise.all(this.listeners.map((listener) => listener.close()))
    ;(await this.external)?.close()
    const parts = await this.made
    parts?.client.close()
    await parts?.server.close()
    await parts?.tracing?.shutdown()
  }

  private async serve(transport: Transport): Promise<void> {
    try {
      ;(await this.parts()).server.serve(transport)
    } catch (error) {
      this.options.log(`the app server cannot be made: ${(error as Error).message}`)
      transport.close('the app server cannot be made')
    }
  }
}
