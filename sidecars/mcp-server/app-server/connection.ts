/** One client of the app server: its handshake, its subscriptions, what it may see. */
import { formatMessage, parseMessage, MalformedMessage, type RpcId } from '../../rpc/json-rpc.ts'
import type { CloseReason, Transport } from '../../rpc/transport.ts'
import { FOR_EVERYONE, type NotificationMethod } from '../../protocol/app-server/notifications.ts'
import { withJsonTexts } from './json-text.ts'
import { RequestGate } from './request-gate.ts'
import { WireError, APP_SERVER_ERROR } from './wire-error.ts'

export interface ClientInfo {
  name: string
  title: string | null
  version: string
}
export interface ConnectionEvents {
  onRequest(connection: AppConnection, id: RpcId, method: string, params: unknown, trace: unknown): void
  onNotification(connection: AppConnection, method: string): void
  /** An answer to a request of ours; `result` or `error` as it came. */
  onAnswer(
    connection: AppConnection,
    id: RpcId | null,
    answer: { result: unknown } | { error: { code: number; message: string } },
  ): void
  onClose(connection: AppConnection, reason: CloseReason): void
  onMalformed(connection: AppConnection, message: string): void
}

let nextConnectionId = 1

/** Owned by the server. A slow client is cut off by its transport's bound, not by a queue of ours. */
export class AppConnection {
  readonly id = nextConnectionId++
  readonly gate = new RequestGate()
  readonly subscriptions = new Set<string>()
  client: ClientInfo | null = null
  experimental = false
  /** Requests taken and not yet answered. */
  inFlight = 0
  private readonly closeListeners: (() => void)[] = []
  private optedOut: ReadonlySet<string> = new Set()
  /** Things that end with the connection: processes, watches. */
  private readonly owned = new Map<string, () => void>()

  constructor(
    readonly transport: Transport,
    private readonly events: ConnectionEvents,
  ) {}

  start(): void {
    this.transport.start({
      onMessage: (text) => this.receive(text),
      onProblem: (problem) => this.events.onMalformed(this, problem.message),
      onClose: (reason) => {
        this.events.onClose(this, reason)
        for (const listener of this.closeListeners) listener()
      },
    })
  }

  /** Called once when the transport has ended. */
  onClosed(listener: () => void): void {
    this.closeListeners.push(listener)
  }

  get initialized(): boolean {
    return this.client !== null
  }

  initialize(
    client: ClientInfo,
    capabilities: { experimentalApi?: unknown; optOutNotificationMethods?: unknown } | null,
  ): void {
    this.client = client
    this.experimental = capabilities?.experimentalApi === true
    const optOut = capabilities?.optOutNotificationMethods
    this.optedOut = new Set(Array.isArray(optOut) ? optOut.filter((m): m is string => typeof m === 'string') : [])
  }

  /** Whether a notification concerns this client. */
  wants(method: string, threadId: string | null): boolean {
    if (!this.initialized || this.optedOut.has(method)) return false
    return threadId === null || FOR_EVERYONE.has(method as NotificationMethod) || this.subscriptions.has(threadId)
  }

  /** Sends text that was serialized once for all its readers. */
  sendText(text: string): void {
    this.transport.send(text)
  }

  notify(method: string, params: unknown): void {
    if (this.wants(method, null)) this.sendText(notificationText(method, params, Date.now()))
  }

  answer(id: RpcId, result: unknown): void {
    const text = withJsonTexts(() => withoutVersion(formatMessage({ kind: 'result', id, result })))
    if (typeof text === 'string') this.sendText(text)
    else if (this.transport.sendBytes) this.transport.sendBytes(text)
    else this.sendText(Buffer.concat(text).toString('utf8'))
  }

  refuse(id: RpcId, error: unknown): void {
    const { code, message, data } =
      error instanceof WireError
        ? error
        : { code: APP_SERVER_ERROR.internal, message: (error as Error).message, data: undefined }
    this.sendText(
      withoutVersion(
        formatMessage({ kind: 'error', id, error: { code, message, ...(data === undefined ? {} : { data }) } }),
      ),
    )
  }

  /** Registers something to end with the connection; replaces what had the key. */
  own(key: string, dispose: () => void): void {
    this.owned.set(key, dispose)
  }

  disown(key: string): void {
    this.owned.delete(key)
  }

  /** Ends what has the key now. */
  release(key: string): void {
    this.owned.get(key)?.()
    this.owned.delete(key)
  }

  /** Lets running requests finish and ends what the connection owns. */
  async close(): Promise<void> {
    for (const dispose of this.owned.values()) dispose()
    this.owned.clear()
    await this.gate.shut()
  }

  private receive(text: string): void {
    let message
    try {
      message = parseMessage(text)
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      // Dropped without an answer, as the reference does: without an id there is nobody to tell.
      this.events.onMalformed(this, error.message)
      return
    }
    if (message.kind === 'request')
      this.events.onRequest(this, message.id, message.method, message.params, message.trace)
    else if (message.kind === 'notification') this.events.onNotification(this, message.method)
    else
      this.events.onAnswer(
        this,
        message.id,
        message.kind === 'result' ? { result: message.result } : { error: message.error },
      )
  }
}

/** The wire of app-server v2 has no `jsonrpc` member. */
const withoutVersion = (text: string): string => text.replace('"jsonrpc":"2.0",', '')

export function notificationText(method: string, params: unknown, emittedAtMs: number): string {
  return `{"method":${JSON.stringify(method)},"params":${JSON.stringify(params)},"emittedAtMs":${emittedAtMs}}`
}

export function requestText(id: number, method: string, params: unknown): string {
  return `{"id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`
}
