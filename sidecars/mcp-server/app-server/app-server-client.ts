/** The client's side of one connection to an app server: calls methods, hears notifications, answers questions. */
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { Transport } from '../../rpc/transport.ts'
import { APP_SERVER_ERROR } from './wire-error.ts'

type Params = Record<string, unknown>

export interface AppServerClientOptions {
  clientInfo: { name: string; title: string }
  notified(method: string, params: Params): void
  /**
   * Answers a question of the server; what it rejects with is answered as an error, which is never a yes.
   * Absent: questions are answered elsewhere.
   */
  asked?(method: string, params: Params, id: string | number): Promise<unknown>
  /** Called once, when the connection has ended. */
  closed?(message: string): void
  /** A call without an answer for so long fails. Absent: it waits for the end of the connection. */
  callTimeoutMs?: number
}

interface Call {
  resolve(result: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout | undefined
}
interface Message {
  id?: string | number
  method?: string
  params?: Params
  result?: unknown
  error?: { code: number; message: string }
}

/** Owns its transport. */
export class AppServerClient {
  /** Resolves with what the server says of itself; rejects when it does not shake hands. */
  readonly ready: Promise<Params>
  private readonly calls = new Map<string | number, Call>()
  private nextId = 1

  constructor(
    private readonly transport: Transport,
    private readonly options: AppServerClientOptions,
  ) {
    transport.start({
      onMessage: (text) => this.receive(text),
      onProblem: () => undefined, // A message that cannot be read is no answer; its call fails by its timeout.
      onClose: ({ message }) => this.end(message),
    })
    this.ready = this.request('initialize', {
      clientInfo: { ...options.clientInfo, version: GATEHOUSE_VERSION },
      capabilities: { experimentalApi: true },
    }).then((said) => {
      this.send({ method: 'initialized' })
      return said as Params
    })
    // Whoever waits for it is told; nobody has to.
    this.ready.catch(() => undefined)
  }

  /** Rejects with RpcError and the method's words; `disconnected` when the connection ends first. */
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
      const { callTimeoutMs } = this.options
      const timer =
        callTimeoutMs === undefined
          ? undefined
          : setTimeout(() => {
              this.calls.delete(id)
              reject(new RpcError('timedOut', `${method} was not answered within ${callTimeoutMs / 1000} s`))
            }, callTimeoutMs)
      this.calls.set(id, { resolve, reject, timer })
      this.send({ id, method, params })
    })
  }

  private send(message: object): void {
    this.transport.send(JSON.stringify(message))
  }

  private receive(text: string): void {
    let message: Message
    try {
      message = JSON.parse(text) as Message
    } catch {
      return // As onProblem.
    }
    const { id, method, params, result, error } = message
    if (method !== undefined) {
      if (id === undefined) this.options.notified(method, params ?? {})
      else this.answer(id, method, params ?? {})
      return
    }
    const call = id === undefined ? undefined : this.calls.get(id)
    if (!call || id === undefined) return
    this.calls.delete(id)
    clearTimeout(call.timer)
    if (!error) call.resolve(result)
    else
      call.reject(new RpcError(error.code === APP_SERVER_ERROR.internal ? 'internal' : 'invalidParams', error.message))
  }

  private answer(id: string | number, method: string, params: Params): void {
    this.options.asked?.(method, params, id).then(
      (result) => this.send({ id, result }),
      (error: Error) => this.send({ id, error: { code: APP_SERVER_ERROR.internal, message: error.message } }),
    )
  }

  private end(message: string): void {
    for (const { reject, timer } of this.calls.values()) {
      clearTimeout(timer)
      reject(new RpcError('disconnected', message))
    }
    this.calls.clear()
    this.options.closed?.(message)
  }
}
