/** A client of the app server in its own process: calls methods and hears notifications, answers no question. */
import { memoryPair } from '../../rpc/memory-transport.ts'
import { AppServerClient } from './app-server-client.ts'
import type { AppServer } from './app-server.ts'

export class InProcessClient {
  private readonly client: AppServerClient

  constructor(
    server: AppServer,
    clientInfo: { name: string; title: string },
    notified: (method: string, params: Record<string, unknown>) => void,
  ) {
    const [near, far] = memoryPair(`${clientInfo.name} client`)
    // A question is answered where the owner is, see HostApprovals.
    this.client = new AppServerClient(near, { clientInfo, notified })
    server.serve(far)
  }

  /** Rejects with RpcError and the method's words. */
  call<T>(method: string, params: unknown): Promise<T> {
    return this.client.call(method, params)
  }

  close(): void {
    this.client.close()
  }
}
