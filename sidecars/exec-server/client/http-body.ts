import type { BodyDelta } from '../../protocol/exec-http.ts'
import { RpcError } from '../../rpc/rpc-error.ts'

/** Undelivered bytes of one body; beyond it that body fails, and nothing else does. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024

/** The streamed body of one HTTP answer. Single reader. */
export class BodyStream implements AsyncIterable<Uint8Array> {
  private readonly queue: Uint8Array[] = []
  private queuedBytes = 0
  private nextSeq = 1
  private over: 'done' | Error | undefined
  private wake: (() => void) | undefined

  constructor(
    private readonly onOver: () => void,
    private readonly maxQueuedBytes = MAX_QUEUED_BYTES,
  ) {}

  receive(delta: BodyDelta): void {
    if (this.over || delta.seq < this.nextSeq) return
    if (delta.seq > this.nextSeq)
      return this.fail(new RpcError('internal', `the body lost its parts ${this.nextSeq} to ${delta.seq - 1}`))
    this.nextSeq++
    const bytes = Buffer.from(delta.deltaBase64, 'base64')
    if (bytes.length > 0) this.queue.push(bytes)
    this.queuedBytes += bytes.length
    if (delta.error !== null) this.fail(new RpcError('internal', delta.error))
    else if (delta.done) this.end('done')
    else if (this.queuedBytes > this.maxQueuedBytes)
      this.fail(new RpcError('overloaded', `more than ${this.maxQueuedBytes} bytes of the body were not read`))
    this.wake?.()
  }

  /** What arrived before is still delivered, then the reader gets the error. */
  fail(error: Error): void {
    this.end(error)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const bytes = this.queue.shift()
      if (bytes) {
        this.queuedBytes -= bytes.length
        yield bytes
      } else if (this.over === 'done') return
      else if (this.over) throw this.over
      else await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }

  private end(outcome: 'done' | Error): void {
    if (this.over) return
    this.over = outcome
    this.onOver()
    this.wake?.()
  }
}
