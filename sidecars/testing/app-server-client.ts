/* oxlint-disable typescript/no-explicit-any -- what a server sends is what is under test */
/** A client of the app-server protocol for tests: keeps all it hears and waits for states, never for time. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { WebSocket } from 'ws'
import { LineSplitter } from '../rpc/line-splitter.ts'

export interface AppServerMessage {
  id?: number | string
  method?: string
  params?: any
  result?: any
  error?: { code: number; message: string; data?: unknown }
}

/** How a client reaches a server. */
export interface AppServerCarrier {
  send(text: string): void
  /** Ends it from this side. */
  close(): void
  onText(listener: (text: string) => void): void
  onClose(listener: () => void): void
}

/** The server answered with an error. */
export class AppServerRefusal extends Error {
  override readonly name = 'AppServerRefusal'
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message)
  }
}

/** The server went away while something was waited for. */
export class AppServerGone extends Error {
  override readonly name = 'AppServerGone'
}

export class AppServerClient {
  readonly seen: AppServerMessage[] = []
  /** Answers to the server's requests, by method; `*` for all others. Unanswered ones stay open. */
  readonly answers = new Map<string, (params: any) => unknown>()
  onMessage: (message: AppServerMessage) => void = () => undefined
  isGone = false
  private readonly watchers = new Set<() => void>()
  private nextId = 1

  constructor(private readonly carrier: AppServerCarrier) {
    carrier.onText((text) => this.take(JSON.parse(text) as AppServerMessage))
    carrier.onClose(() => {
      this.isGone = true
      for (const watcher of this.watchers) watcher()
    })
  }

  /** Shakes hands. */
  async open(capabilities: object = { experimentalApi: true }, name = 'gatehouse-test'): Promise<this> {
    await this.call('initialize', { clientInfo: { name, title: null, version: '1' }, capabilities })
    this.send({ method: 'initialized' })
    return this
  }

  send(message: object): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    if (!this.isGone) this.carrier.send(text)
  }

  /** Rejects with AppServerRefusal or AppServerGone. */
  async call(method: string, params: object = {}, id: number | string = this.nextId++): Promise<any> {
    const from = this.seen.length
    this.send({ id, method, params })
    const answer = await this.until((m) => m.id === id && m.method === undefined, from)
    if (answer.error) throw new AppServerRefusal(answer.error.code, answer.error.message, answer.error.data)
    return answer.result
  }

  /** The first message from place `from` on that matches. Rejects with AppServerGone. */
  until(match: (message: AppServerMessage) => boolean, from = 0): Promise<AppServerMessage> {
    return new Promise((resolve, reject) => {
      let at = from
      const look = () => {
        for (; at < this.seen.length; at++) if (match(this.seen[at]!)) return finish(() => resolve(this.seen[at]!))
        if (this.isGone) finish(() => reject(new AppServerGone('the app server is gone')))
      }
      const finish = (settle: () => void) => {
        this.watchers.delete(look)
        settle()
      }
      this.watchers.add(look)
      look()
    })
  }

  notified(method: string, match: (params: any) => boolean = () => true, from = 0): Promise<AppServerMessage> {
    return this.until((m) => m.method === method && m.id === undefined && match(m.params), from)
  }

  /** A request of the server. */
  asked(method: string, from = 0): Promise<AppServerMessage> {
    return this.until((m) => m.method === method && m.id !== undefined, from)
  }

  /** Runs one turn to its end; gives it and all messages meanwhile. */
  async turn(
    threadId: string,
    text: string,
    params: object = {},
  ): Promise<{ turn: any; messages: AppServerMessage[] }> {
    const from = this.seen.length
    const { turn } = await this.call('turn/start', { threadId, input: [{ type: 'text', text }], ...params })
    const done = await this.notified('turn/completed', (p) => p.turn.id === turn.id, from)
    return { turn: done.params.turn, messages: this.seen.slice(from) }
  }

  close(): void {
    this.carrier.close()
  }

  private take(message: AppServerMessage): void {
    this.seen.push(message)
    if (message.method !== undefined && message.id !== undefined) {
      const answer = this.answers.get(message.method) ?? this.answers.get('*')
      if (answer) this.send({ id: message.id, result: answer(message.params) })
    }
    this.onMessage(message)
    for (const watcher of this.watchers) watcher()
  }
}

/** A server started as a child that speaks on its stdin and stdout. */
export function stdioCarrier(
  program: string,
  args: string[],
  options: { env: NodeJS.ProcessEnv; cwd: string },
): { carrier: AppServerCarrier; child: ChildProcess; ended: Promise<void> } {
  const child = spawn(program, args, { ...options, stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = new LineSplitter()
  child.stdin.on('error', () => undefined) // It has ended; `close` tells.
  const ended = once(child, 'close').then(() => undefined)
  const carrier: AppServerCarrier = {
    send: (text) => void child.stdin.write(`${text}\n`),
    close: () => child.stdin.end(),
    onText: (listener) =>
      child.stdout.on('data', (bytes: Buffer) => {
        for (const line of lines.push(bytes)) if ('text' in line) listener(line.text)
      }),
    onClose: (listener) => child.once('close', listener),
  }
  return { carrier, child, ended }
}

/** Connects to `ws://…` or `unix://…`. Rejects with the HTTP status in `message` when it is refused. */
export async function socketCarrier(url: string, headers: Record<string, string> = {}): Promise<AppServerCarrier> {
  const path = url.startsWith('unix://') ? url.slice('unix://'.length) : null
  const socket = new WebSocket(path === null ? url : 'ws://localhost/', {
    headers,
    perMessageDeflate: false,
    ...(path !== null && { createConnection: () => connect(path) }),
  })
  const texts: string[] = []
  let listener: (text: string) => void = (text) => texts.push(text)
  socket.on('message', (data) => listener(String(data)))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('unexpected-response', (_, response) => reject(new Error(String(response.statusCode))))
    socket.once('error', reject)
  })
  socket.on('error', () => undefined) // `close` follows.
  return {
    send: (text) => socket.send(text),
    close: () => socket.close(),
    onText: (added) => {
      listener = added
      for (const text of texts.splice(0)) added(text)
    },
    onClose: (added) => socket.once('close', added),
  }
}
