/** The owner's own client of the app server: the window's calls go in, news of its threads come out. */
import { RpcError } from '../../rpc/rpc-error.ts'
import { memoryPair } from '../../rpc/memory-transport.ts'
import type { Transport } from '../../rpc/transport.ts'
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import type { AppServer } from './app-server.ts'
import { shortened, ThreadNews } from './thread-news.ts'
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

/** Questions of the engine reach the owner through the host's approvals, so this client answers none. */
export class HostClient {
  private readonly transport: Transport
  private readonly calls = new Map<number, Call>()
  private readonly news: ThreadNews
  private readonly ready: Promise<unknown>
  private nextId = 1

  constructor(server: AppServer, send: (method: string, params: Record<string, unknown>) => void) {
    const [near, far] = memoryPair('host client')
    this.transport = near
    this.news = new ThreadNews(send)
    near.start({
      onMessage: (text) => this.receive(JSON.parse(text) as Message),
      onProblem: () => undefined, // Both ends are ours.
      onClose: ({ message }) => this.end(message),
    })
    server.serve(far)
    this.ready = this.request('initialize', {
      clientInfo: { name: 'gatehouse', title: 'Gatehouse', version: GATEHOUSE_VERSION },
      capabilities: { experimentalApi: true },
    })
  }

  /** Rejects with RpcError and the method's words. */
  async call(method: string, params: unknown): Promise<unknown> {
    await this.ready
    return shortened(await this.request(method, params))
  }

  close(): void {
    this.transport.close('the server ends')
  }

  private request(method: string, params: unknown): Promise<unknown> {
    const id = this.nextId++
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject })
      this.transport.send(JSON.stringify({ id, method, params }))
    })
  }

  private receive({ id, method, params, result, error }: Message): void {
    if (method !== undefined) {
      if (id === undefined) this.news.push(method, params ?? {})
      return
    }
    const call = this.calls.get(id!)
    this.calls.delete(id!)
    if (!error) call?.resolve(result)
    else
      call?.reject(new RpcError(error.code === APP_SERVER_ERROR.internal ? 'internal' : 'invalidParams', error.message))
  }

  private end(message: string): void {
    this.news.close()
    for (const call of this.calls.values()) call.reject(new RpcError('disconnected', message))
    this.calls.clear()
  }
}
