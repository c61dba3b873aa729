import { randomUUID } from 'node:crypto'
import type { WriteStatus } from '../../protocol/exec-process.ts'

/** One message carries at most this much input; more would hold up what else the connection has to say. */
const MAX_CHUNK_BYTES = 512 * 1024

interface QueuedWrite {
  bytes: Uint8Array
  closesInput: boolean
  resolve(status: WriteStatus): void
  reject(error: unknown): void
}

/** Sends one chunk; repeats it with the same id until the server has answered. */
export type SendWrite = (chunk: Uint8Array, writeId: string, closeStdin: boolean) => Promise<WriteStatus>

/**
 * The input of one process, in the order of the calls. One chunk is on its way at a time; small writes
 * that pile up behind it travel together, so that typing over a slow line does not lag by one round
 * trip a key.
 */
export class WriteQueue {
  private readonly queue: QueuedWrite[] = []
  private readonly prefix = randomUUID()
  private count = 0
  private isSending = false

  constructor(private readonly send: SendWrite) {}

  /** Resolves with the server's word once all of `bytes` were taken, or with the first refusal. */
  write(bytes: Uint8Array, closesInput = false): Promise<WriteStatus> {
    return new Promise((resolve, reject) => {
      this.queue.push({ bytes: Uint8Array.from(bytes), closesInput, resolve, reject })
      if (!this.isSending) void this.run()
    })
  }

  private async run(): Promise<void> {
    this.isSending = true
    while (this.queue.length > 0) {
      const batch = this.takeBatch()
      try {
        const status = await this.sendAll(
          Buffer.concat(batch.map((w) => w.bytes)),
          batch.some((w) => w.closesInput),
        )
        for (const write of batch) write.resolve(status)
      } catch (error) {
        for (const write of batch) write.reject(error)
      }
    }
    this.isSending = false
  }

  private takeBatch(): QueuedWrite[] {
    let size = 0
    let count = 0
    for (const write of this.queue) {
      if (count > 0 && size + write.bytes.length > MAX_CHUNK_BYTES) break
      size += write.bytes.length
      count++
      if (write.closesInput) break
    }
    return this.queue.splice(0, count)
  }

  private async sendAll(bytes: Buffer, closesInput: boolean): Promise<WriteStatus> {
    let status: WriteStatus = 'accepted'
    let offset = 0
    do {
      const chunk = bytes.subarray(offset, offset + MAX_CHUNK_BYTES)
      offset += chunk.length
      status = await this.send(chunk, `${this.prefix}-${++this.count}`, closesInput && offset >= bytes.length)
    } while (status === 'accepted' && offset < bytes.length)
    return status
  }
}
