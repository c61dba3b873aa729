import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { parseRelayFrame } from '../exec-server/remote/relay-frame.ts'

export interface RegistryCall {
  action: string
  body: Record<string, unknown>
  headers: IncomingMessage['headers']
}
export type RegistryAnswer = { status?: number; body?: unknown; headers?: Record<string, string> } | 'silence'

/**
 * A registry and its rendezvous, as executors and those who want to reach them expect it. Frames are handed on by
 * their stream and never looked into.
 */
export class RelayService {
  readonly calls: RegistryCall[] = []
  /** Set to answer a call in another way. */
  override: (call: RegistryCall) => RegistryAnswer | undefined = () => undefined
  /** Status with which the rendezvous refuses executors; undefined lets them in. */
  refusesExecutors: number | undefined
  /** Frames as they passed, for tests that change or repeat some. */
  onFrame: (frame: Buffer, from: 'executor' | 'harness', pass: (frame: Buffer) => void) => void = (frame, _, pass) =>
    pass(frame)
  executor: WebSocket | undefined
  readonly harnesses = new Map<string, WebSocket>()
  executorConnections = 0
  private executorKeys: unknown

  private constructor(private readonly server: Server) {
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
    server.on('request', (request, response) => void this.answer(request, response))
    server.on('upgrade', (request, socket, head) => {
      const role = new URL(request.url ?? '/', 'http://x').searchParams.get('role')
      if (role === 'executor' && this.refusesExecutors !== undefined)
        return void socket.end(`HTTP/1.1 ${this.refusesExecutors} no\r\ncontent-length: 0\r\n\r\n`)
      sockets.handleUpgrade(request, socket, head, (ws) =>
        role === 'executor' ? this.joinExecutor(ws) : this.joinHarness(ws),
      )
    })
  }

  static async start(): Promise<RelayService> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new RelayService(server)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }
  get rendezvousUrl(): string {
    return this.url.replace('http', 'ws')
  }

  stop(): void {
    this.executor?.terminate()
    for (const harness of this.harnesses.values()) harness.terminate()
    this.server.closeAllConnections()
    this.server.close()
  }

  private joinExecutor(socket: WebSocket): void {
    this.executorConnections++
    this.executor = socket
    socket.on('error', () => {})
    socket.on('message', (data: Buffer) =>
      this.onFrame(data, 'executor', (frame) => this.harnesses.get(parseRelayFrame(frame).streamId)?.send(frame)),
    )
  }

  private joinHarness(socket: WebSocket): void {
    socket.on('error', () => {})
    socket.on('message', (data: Buffer) => {
      this.harnesses.set(parseRelayFrame(data).streamId, socket)
      this.onFrame(data, 'harness', (frame) => this.executor?.send(frame))
    })
  }

  private async answer(request: IncomingMessage, response: import('node:http').ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const [, environmentId, action = ''] = /^\/cloud\/environment\/([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? []
    const body = JSON.parse(String(Buffer.concat(chunks)) || '{}') as Record<string, unknown>
    const call = { action, body, headers: request.headers }
    this.calls.push(call)
    const given = this.override(call)
    if (given === 'silence') return
    const { status = 200, headers = {}, body: said } = given ?? { body: this.usual(call, environmentId ?? '') }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(said ?? {}))
  }

  private usual({ action, body }: RegistryCall, environmentId: string): unknown {
    const common = {
      environment_id: environmentId,
      security_profile: 'noise_hybrid_ik_v1',
      executor_registration_id: 'registration-1',
    }
    switch (action) {
      case 'register':
        this.executorKeys = body.executor_public_key
        return { ...common, url: `${this.rendezvousUrl}/?role=executor` }
      case 'connect':
        return {
          ...common,
          url: `${this.rendezvousUrl}/?role=harness`,
          executor_public_key: this.executorKeys,
          harness_key_authorization: 'let me in',
        }
      default:
        return { valid: body.harness_key_authorization === 'let me in' }
    }
  }
}
