/** A client of the app server in its own process: calls methods and hears notifications, answers no question. */
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import { memoryPair } from '../../rpc/memory-transport.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { Transport } from '../../rpc/transport.ts'
import type { AppServer } from './app-server.ts'
import { APP_SERVER_ERROR } from './wire-error.ts'

interface Call {
  resolve(result: unknown): void
  reject(error: Error): void
}
interface Message {
  id?: number
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: { code: number; message: string }
}

export class InProcessClient {
  private readonly transport: Transport
  private readonly calls = new Map<number, Call>()
  private readonly ready: Promise<unknown>
  private nextId = 1

  constructor(
    server: AppServer,
    clientInfo: { name: string; title: string },
    notified: (method: string, params: Record<string, unknown>) => void,
  ) {
    const [near, far] = memoryPair(`${clientInfo.name} client`)
    this.transport = near
    near.start({
      onMessage: (text) => this.receive(JSON.parse(text) as Message, notified),
      onProblem: () => undefined, // Both ends are ours.
      onClose: ({ message }) => this.end(message),
    })
    server.serve(far)
    this.ready = this.request('initialize', {
      clientInfo: { ...clientInfo, version: GATEHOUSE_VERSION },
      capabilities: { experimentalApi: true },
    })
  }

  /** Rejects with RpcError and the method's words. */
  async call<T>(method: string, params: unknown): Promise<T> {
    await this.ready
    return (await this.request(method, params)) as T
  }

  close(): void {
    this.transport.close('the client is done')
  }

  private request(method: string, params: unknown): Promise<unknown> {
    const id = this.nextId++
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject })
      this.transport.send(JSON.stringify({ id, method, params }))
    })
  }

  private receive(
    { id, method, params, result, error }: Message,
    notified: (method: string, params: Record<string, unknown>) => void,
  ): void {
    if (method !== undefined) {
      // A question is answered where the owner is, see HostApprovals.
      if (id === undefined) notified(method, params ?? {})
      return
    }
    const call = this.calls.get(id!)
    this.calls.delete(id!)
    if (!error) call?.resolve(result)
    else
      call?.reject(new RpcError(error.code === APP_SERVER_ERROR.internal ? 'internal' : 'invalidParams', error.message))
  }

  private end(message: string): void {
    for (const call of this.calls.values()) call.reject(new RpcError('disconnected', message))
    this.calls.clear()
  }
}
