import type { Readable, Writable } from 'node:stream'
import { parseJSONRPCMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import { RPC_ERROR } from '../../protocol/errors.ts'
import { LineSplitter } from '../../rpc/line-splitter.ts'
import { OutgoingGauge } from '../../rpc/outgoing-gauge.ts'
import { RpcError } from '../../rpc/rpc-error.ts'

/** What the SDK's own clients and servers accept in one line. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024
/**
 * After the end of input: how long answers already being made may still take. Enough for everything
 * that does not wait for a person or a program, which must not outlive its client.
 */
const LAST_ANSWERS_MS = 300

export interface LineCarrierOptions {
  /** Sees each message before the server does; one it throws at is answered with that error. */
  onIncoming?: (message: JSONRPCMessage) => void
  /** Once, when nothing can be read or written any more. */
  onEnded?: () => void
  /** What was survived, one sentence for the log. */
  onProblem?: (message: string) => void
}

/**
 * MCP as JSON lines over a pair of byte streams, for the SDK. Differs from the SDK's own carrier where
 * that is fragile: a line that is too long, not JSON or no message is answered with an error and
 * survived, a client that stops reading is not read from, and the end of input lets quick answers out.
 */
export class LineCarrier implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T) => void
  private readonly splitter = new LineSplitter()
  private readonly gauge = new OutgoingGauge()
  private readonly unanswered = new Set<string | number>()
  private lastAnswersTimer: NodeJS.Timeout | undefined
  private inputEnded = false
  private isOver = false

  constructor(
    private readonly input: Readable,
    private readonly output: Writable,
    private readonly options: LineCarrierOptions = {},
  ) {
    input.on('error', () => this.end())
    output.on('error', () => this.end())
    output.on('close', () => this.end())
  }

  start(): Promise<void> {
    this.input.on('data', (chunk: Buffer) => {
      for (const line of this.splitter.push(chunk)) this.receive(line)
    })
    this.input.on('end', () => this.endOfInput())
    this.input.on('close', () => this.endOfInput())
    // Whoever read before may have left it paused.
    this.input.resume()
    if (this.input.readableEnded || this.input.destroyed) this.endOfInput()
    return Promise.resolve()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.isOver) return
    this.write(JSON.stringify(message))
    if (!('method' in message) && message.id !== undefined) this.answered(message.id)
    await this.gauge.drained()
  }

  close(): Promise<void> {
    this.end()
    return Promise.resolve()
  }

  private receive(line: ReturnType<LineSplitter['push']>[number]): void {
    if (this.isOver) return
    if ('problem' in line) return this.refuse(null, RPC_ERROR.invalidRequest, line.problem.message)
    let value: unknown
    try {
      value = JSON.parse(line.text)
    } catch (error) {
      return this.refuse(null, RPC_ERROR.parseError, `not JSON: ${(error as Error).message}`)
    }
    const id = idOf(value)
    if (line.bytes > MAX_MESSAGE_BYTES)
      return this.refuse(
        id,
        RPC_ERROR.invalidRequest,
        `the message has ${line.bytes} bytes, the limit is ${MAX_MESSAGE_BYTES}; pass large content by a file`,
      )
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      return this.refuse(id, RPC_ERROR.invalidRequest, 'expected one JSON-RPC 2.0 request, notification or response')
    }
    if ('method' in message && 'id' in message) this.unanswered.add(message.id)
    else if ('method' in message && message.method === 'notifications/cancelled') this.cancelled(message.params)
    try {
      this.options.onIncoming?.(message)
    } catch (error) {
      const code = error instanceof RpcError ? error.wireCode : RPC_ERROR.internal
      return this.refuse(id, code, error instanceof Error ? error.message : String(error))
    }
    this.onmessage?.(message)
  }

  private refuse(id: string | number | null, code: number, message: string): void {
    this.options.onProblem?.(message)
    this.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }

  private write(text: string): void {
    const line = Buffer.from(`${text}\n`, 'utf8')
    if (this.gauge.wouldOverflow(line.length)) {
      this.options.onProblem?.(`the client does not read: ${this.gauge.queuedBytes} bytes are waiting`)
      return this.end()
    }
    if (!this.gauge.add(line.length) && !this.input.isPaused()) {
      this.input.pause()
      void this.gauge.drained().then(() => this.input.resume())
    }
    this.output.write(line, () => this.gauge.remove(line.length))
  }

  private cancelled(params: unknown): void {
    const { requestId } = (params ?? {}) as { requestId?: string | number }
    if (requestId !== undefined) this.answered(requestId)
  }

  private answered(id: string | number): void {
    this.unanswered.delete(id)
    if (this.inputEnded && this.unanswered.size === 0) this.end()
  }

  private endOfInput(): void {
    if (this.inputEnded || this.isOver) return
    this.inputEnded = true
    for (const line of this.splitter.end()) this.receive(line)
    if (this.unanswered.size === 0) this.end()
    else this.lastAnswersTimer = setTimeout(() => this.end(), LAST_ANSWERS_MS)
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.lastAnswersTimer)
    this.gauge.release()
    this.output.end(() => this.input.destroy())
    this.onclose?.()
    this.options.onEnded?.()
  }
}

function idOf(value: unknown): string | number | null {
  const { id } = (typeof value === 'object' && value !== null ? value : {}) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
