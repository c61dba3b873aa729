import { randomUUID } from 'node:crypto'
import type { ChildProcess } from 'node:child_process'
import { WebSocket } from 'ws'
import type { OutputStream } from '../protocol/host-channel.ts'

/** A message as it stood on the wire. */
export type WireMessage = Record<string, unknown> & {
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string; data?: Record<string, unknown> }
}

export interface StartOptions {
  id?: string
  cwd?: string
  env?: Record<string, string>
  tty?: boolean
  pipeStdin?: boolean
  [more: string]: unknown
}

/**
 * A client of the exec server that hides nothing: every message is kept as it came, nothing is put in
 * order, repeated or recovered.
 */
export class ExecWireClient {
  readonly messages: WireMessage[] = []
  /** Answers requests of the server, with a result or an error; undefined leaves one unanswered. */
  answerWith: (request: WireMessage) => { result: unknown } | { error: unknown } | undefined = () => undefined
  readonly closed: Promise<number>
  private readonly pending = new Map<number, (answer: WireMessage) => void>()
  private readonly processes = new Map<string, WireProcess>()
  private readonly watchers = new Set<() => void>()
  private nextId = 1
  sessionId = ''

  private constructor(
    readonly send: (text: string) => void,
    readonly drop: () => void,
    onMessage: (listener: (text: string) => void) => void,
    closed: Promise<number>,
    /** The socket, where there is one, for tests that stop reading. */
    readonly socket: WebSocket | undefined,
  ) {
    onMessage((text) => this.receive(JSON.parse(text) as WireMessage))
    this.closed = closed.then((code) => {
      for (const settle of this.pending.values()) settle({ error: { code: 0, message: 'the connection ended' } })
      this.pending.clear()
      this.wake()
      return code
    })
  }

  /** Connects without a handshake. */
  static async connect(url: string, headers: Record<string, string> = {}): Promise<ExecWireClient> {
    const socket = new WebSocket(url, { headers, perMessageDeflate: false })
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    socket.on('error', () => {})
    return new ExecWireClient(
      (text) => socket.send(text),
      () => socket.terminate(),
      (listener) => socket.on('message', (data) => listener(String(data))),
      closed,
      socket,
    )
  }

  /** Speaks lines with a child's stdin and stdout. */
  static overStdio(child: ChildProcess): ExecWireClient {
    const { stdin, stdout } = child
    if (!stdin || !stdout) throw new Error('the child needs pipes on stdin and stdout')
    const closed = new Promise<number>((resolve) => stdout.once('close', () => resolve(0)))
    return new ExecWireClient(
      (text) => void stdin.write(`${text}\n`),
      () => stdin.end(),
      (listener) => {
        let rest = ''
        stdout.on('data', (bytes: Buffer) => {
          const lines = (rest + bytes.toString('utf8')).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) listener(line)
        })
      },
      closed,
      undefined,
    )
  }

  /** Connects and does the handshake. */
  static async open(url: string, resumeSessionId?: string, headers?: Record<string, string>): Promise<ExecWireClient> {
    const client = await ExecWireClient.connect(url, headers)
    await client.initialize(resumeSessionId)
    return client
  }

  async initialize(resumeSessionId?: string): Promise<WireMessage> {
    const answer = await this.ask('initialize', { clientName: 'test', resumeSessionId: resumeSessionId ?? null })
    if (answer.result) {
      this.sessionId = String(answer.result.sessionId)
      this.send('{"method":"initialized"}')
    }
    return answer
  }

  /** The whole answer, result or error. */
  ask(method: string, params?: unknown): Promise<WireMessage> {
    const id = this.nextId++
    return new Promise((resolve) => {
      this.pending.set(id, resolve)
      this.send(JSON.stringify({ id, method, params }))
    })
  }

  /** The result; an error answer fails the test. */
  async call(method: string, params?: unknown): Promise<Record<string, unknown>> {
    const { result, error } = await this.ask(method, params)
    if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }

  /** Starts a process; `started` is the whole answer. */
  run(argv: string[], options: StartOptions = {}): WireProcess {
    const { id = `p-${randomUUID()}`, ...rest } = options
    const process = this.watch(id)
    process.started = this.ask('process/start', {
      processId: id,
      argv,
      cwd: 'file:///tmp',
      env: { PATH: '/usr/bin:/bin' },
      tty: false,
      ...rest,
    })
    return process
  }

  /** Collects the notifications of a process that was started elsewhere. */
  watch(id: string): WireProcess {
    const process = new WireProcess(this, id)
    this.processes.set(id, process)
    return process
  }

  /** Resolves when `isThere` holds; looked at after every message. */
  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) await new Promise<void>((resolve) => this.watchers.add(resolve))
  }

  /** Messages of the server with this method. */
  notifications(method: string): WireMessage[] {
    return this.messages.filter((message) => message.method === method)
  }

  private receive(message: WireMessage): void {
    this.messages.push(message)
    if (message.method === undefined) {
      const id = Number(message.id)
      this.pending.get(id)?.(message)
      this.pending.delete(id)
    } else if (message.id !== undefined) {
      const answer = this.answerWith(message)
      if (answer) this.send(JSON.stringify({ id: message.id, ...answer }))
    } else if (message.method.startsWith('process/'))
      this.processes.get(String(message.params?.processId))?.receive(message)
    this.wake()
  }

  private wake(): void {
    const waiting = [...this.watchers]
    this.watchers.clear()
    for (const watcher of waiting) watcher()
  }
}

/** What one connection learns of one process, in the order of arrival. */
export class WireProcess {
  started: Promise<WireMessage> = Promise.resolve({})
  readonly seqs: number[] = []
  readonly events: string[] = []
  exitCode: number | undefined
  isClosed = false
  private readonly chunks: { stream: OutputStream; bytes: Buffer }[] = []

  constructor(
    private readonly client: ExecWireClient,
    readonly id: string,
  ) {}

  receive({ method, params = {} }: WireMessage): void {
    this.seqs.push(Number(params.seq))
    this.events.push(String(method).replace('process/', ''))
    if (method === 'process/output')
      this.chunks.push({
        stream: params.stream as OutputStream,
        bytes: Buffer.from(String(params.chunk), 'base64'),
      })
    else if (method === 'process/exited') this.exitCode = Number(params.exitCode)
    else this.isClosed = true
  }

  bytes(stream?: OutputStream): Buffer {
    return Buffer.concat(this.chunks.flatMap((c) => (stream === undefined || c.stream === stream ? [c.bytes] : [])))
  }
  text(stream?: OutputStream): string {
    return this.bytes(stream).toString('utf8')
  }
  get chunkSizes(): number[] {
    return this.chunks.map(({ bytes }) => bytes.length)
  }

  /** The started process; an error answer fails the test. */
  async running(): Promise<this> {
    const { error } = await this.started
    if (error) throw new Error(`process/start: ${JSON.stringify(error)}`)
    return this
  }
  async exited(): Promise<this> {
    await this.running()
    await this.client.until(() => this.exitCode !== undefined)
    return this
  }
  async closed(): Promise<this> {
    await this.running()
    await this.client.until(() => this.isClosed)
    return this
  }
  async said(text: string): Promise<this> {
    await this.client.until(() => this.text().includes(text))
    return this
  }

  write(bytes: Uint8Array | string, more: Record<string, unknown> = {}): Promise<WireMessage> {
    return this.client.ask('process/write', {
      processId: this.id,
      chunk: Buffer.from(bytes).toString('base64'),
      writeId: randomUUID(),
      ...more,
    })
  }
  read(params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    return this.client.call('process/read', { processId: this.id, ...params })
  }
  terminate(): Promise<Record<string, unknown>> {
    return this.client.call('process/terminate', { processId: this.id })
  }
  interrupt(): Promise<Record<string, unknown>> {
    return this.client.call('process/signal', { processId: this.id, signal: 'interrupt' })
  }
}
