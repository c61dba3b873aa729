import type { ExecConnector } from '../exec-server/client/carrier.ts'
import { parseMessage, type RpcMessage } from '../rpc/json-rpc.ts'
import { memoryPair } from '../rpc/memory-transport.ts'
import type { Transport } from '../rpc/transport.ts'

interface Notification {
  method: string
  params: Record<string, unknown>
}
type Answer = { result: unknown } | { error: { code: number; message: string; data?: unknown } }
/** Answers a request; `undefined` leaves it to the server's own behaviour, `null` to nobody. */
export type Override = (params: Record<string, unknown>) => Answer | null | undefined

/** One process whose events a test makes up. Every event takes the next number. */
export class ScriptedProcess {
  readonly chunks: { seq: number; stream: string; chunk: string }[] = []
  readonly writes: { writeId: string; chunk: string; closeStdin?: boolean }[] = []
  /** Chunks up to this number are no longer kept. */
  retainedAfterSeq = 0
  exitCode: number | null = null
  isClosed = false
  private seq = 0

  constructor(
    readonly id: string,
    private readonly send: (notification: Notification) => void,
  ) {}

  get nextSeq(): number {
    return this.seq + 1
  }
  output(text: string, stream = 'stdout'): void {
    const chunk = Buffer.from(text).toString('base64')
    this.chunks.push({ seq: ++this.seq, stream, chunk })
    this.send({ method: 'process/output', params: { processId: this.id, seq: this.seq, stream, chunk } })
  }
  exit(exitCode: number): void {
    this.exitCode = exitCode
    this.seq++
    this.send({
      method: 'process/exited',
      params: { processId: this.id, seq: this.seq, exitCode, sandboxDenied: false },
    })
  }
  close(): void {
    this.isClosed = true
    this.seq++
    this.send({ method: 'process/closed', params: { processId: this.id, seq: this.seq } })
  }

  read(afterSeq: number, maxBytes: number | null): Record<string, unknown> {
    const chunks: ScriptedProcess['chunks'] = []
    let size = 0
    for (const chunk of this.chunks) {
      if (chunk.seq <= Math.max(afterSeq, this.retainedAfterSeq)) continue
      size += Buffer.from(chunk.chunk, 'base64').length
      if (maxBytes !== null && chunks.length > 0 && size > maxBytes) break
      chunks.push(chunk)
    }
    const last = chunks.at(-1)?.seq
    return {
      chunks,
      nextSeq: maxBytes === null || last === undefined ? this.nextSeq : last + 1,
      exited: this.exitCode !== null,
      exitCode: this.exitCode,
      closed: this.isClosed,
      failure: null,
      sandboxDenied: false,
    }
  }
}

/**
 * An exec server without processes: a test makes up what they do, holds messages back, loses them,
 * repeats them, and cuts connections. What it is asked it answers as the real one does.
 */
export class ScriptedExecServer {
  readonly processes = new Map<string, ScriptedProcess>()
  /** Method and params of every request, in order. */
  readonly requests: { method: string; params: Record<string, unknown> }[] = []
  /** What the client answered to requests sent with `sendRaw`. */
  readonly answers: RpcMessage[] = []
  readonly overrides = new Map<string, Override>()
  /** Notifications that wait for `release`, while `isHolding`. */
  readonly held: Notification[] = []
  isHolding = false
  /** Connection attempts that fail before one succeeds. */
  refusals = 0
  attempts = 0
  /** What happens when a process is started, before the answer. */
  onStart: (process: ScriptedProcess) => void = () => {}
  private sessionId: string | null = null
  private sessions = 0
  private link: Transport | null = null

  readonly connect: ExecConnector = async () => {
    this.attempts++
    if (this.refusals > 0) {
      this.refusals--
      throw new Error('connection refused')
    }
    const [near, far] = memoryPair('scripted exec server')
    far.start({
      onMessage: (text) => this.receive(far, text),
      onProblem: () => {},
      onClose: () => {
        if (this.link === far) this.link = null
      },
    })
    return { transport: near }
  }

  get isConnected(): boolean {
    return this.link !== null
  }

  process(id: string): ScriptedProcess {
    const process = this.processes.get(id)
    if (!process) throw new Error(`no process ${id} was started`)
    return process
  }

  /** Ends the connection; the session stays. What was on its way may or may not have arrived. */
  cut(): void {
    this.link?.close('cut')
    this.link = null
  }
  forgetSession(): void {
    this.sessionId = null
  }
  /** Sends held notifications in the given order of their places; without one, as they came. */
  release(order: number[] = this.held.map((_, i) => i)): void {
    const held = this.held.splice(0)
    for (const place of order) if (held[place]) this.write(held[place])
  }
  /** Text as it is, for messages that no server should send. */
  sendRaw(text: string): void {
    this.link?.send(text)
  }
  notify(method: string, params: Record<string, unknown>): void {
    this.write({ method, params })
  }
  requestsOf(method: string): Record<string, unknown>[] {
    return this.requests.filter((r) => r.method === method).map((r) => r.params)
  }

  private receive(from: Transport, text: string): void {
    const message = parseMessage(text)
    if (message.kind === 'notification') {
      if (message.method === 'initialized') this.link = from
      else from.close(`unexpected notification ${message.method}`)
      return
    }
    if (message.kind !== 'request') {
      this.answers.push(message)
      return
    }
    const params = (message.params ?? {}) as Record<string, unknown>
    this.requests.push({ method: message.method, params })
    const overridden = this.overrides.get(message.method)?.(params)
    if (overridden === null) return
    const answer = overridden ?? this.answer(from, message.method, params)
    if (answer) from.send(JSON.stringify({ id: message.id, ...answer }))
  }

  private answer(from: Transport, method: string, params: Record<string, unknown>): Answer | null {
    switch (method) {
      case 'initialize':
        return this.initialize(from, params)
      case 'process/start':
        return this.start(params)
      case 'process/read':
        return this.withProcess(params, (process) => ({
          result: process.read((params.afterSeq as number | null) ?? 0, (params.maxBytes as number | null) ?? null),
        }))
      case 'process/write':
        return this.writeInput(params)
      case 'process/terminate':
        return { result: { running: this.processes.get(params.processId as string)?.exitCode === null } }
      case 'process/signal':
        return { result: {} }
      case 'environment/status':
        return { result: { status: 'ready' } }
      default:
        return { error: { code: -32601, message: `exec-server stub does not implement \`${method}\` yet` } }
    }
  }

  private initialize(from: Transport, params: Record<string, unknown>): Answer {
    const resume = params.resumeSessionId as string | null
    if (resume !== null && resume !== this.sessionId)
      return { error: { code: -32600, message: `unknown session id ${resume}` } }
    if (resume === null) this.sessionId = `session-${++this.sessions}`
    // From here on notifications go to the new connection, also before the client knows.
    this.link = from
    return { result: { sessionId: this.sessionId, environmentInfo: undefined } }
  }

  private start(params: Record<string, unknown>): Answer {
    const id = params.processId as string
    if (this.processes.has(id)) return { error: { code: -32600, message: 'process ID already exists' } }
    const process = new ScriptedProcess(id, (notification) => this.deliver(notification))
    this.processes.set(id, process)
    this.onStart(process)
    return { result: { processId: id, sandboxType: 'none' } }
  }

  private writeInput(params: Record<string, unknown>): Answer {
    const process = this.processes.get(params.processId as string)
    if (!process) return { result: { status: 'unknownProcess' } }
    const writeId = params.writeId as string
    if (!process.writes.some((w) => w.writeId === writeId))
      process.writes.push(params as unknown as ScriptedProcess['writes'][number])
    return { result: { status: 'accepted' } }
  }

  private withProcess(params: Record<string, unknown>, use: (process: ScriptedProcess) => Answer): Answer {
    const process = this.processes.get(params.processId as string)
    return process
      ? use(process)
      : { error: { code: -32600, message: `unknown process id ${String(params.processId)}` } }
  }

  private deliver(notification: Notification): void {
    if (this.isHolding) this.held.push(notification)
    else this.write(notification)
  }
  private write(notification: Notification): void {
    this.link?.send(JSON.stringify(notification))
  }
}
