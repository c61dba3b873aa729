import { OUTPUT_WINDOW_BYTES, type OutputPortFromServer, type OutputPortFromView } from '../../protocol/output-port.ts'
import type { PortLike } from '../../rpc/sidecar.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'
import type { OutputChunk } from '../processes/output-log.ts'

/** Most that is taken out of the log at once. */
const PAGE_BYTES = 256 * 1024
const PAGE_CHUNKS = 1_024

/**
 * Sends the output of one process to a view, from a cursor on, in the order of the numbers: what is on
 * disk first, then what comes. Never more than the window beyond what the view has acknowledged; the
 * process itself is not held back by a view.
 */
export class OutputPortFeed {
  private readonly ended = new AbortController()
  private unacknowledged = 0
  private cursor: number
  private isExitSent = false
  private wakeForRoom: (() => void) | undefined

  constructor(
    private readonly process: ManagedProcess,
    private readonly port: PortLike,
    afterSeq: number,
  ) {
    this.cursor = afterSeq
  }

  start(): void {
    const { port } = this
    port.on('message', ({ data }) => this.receive(data as OutputPortFromView))
    port.on('close', () => this.stop())
    port.start()
    void this.run().catch((error: Error) => this.fail(error.message))
  }

  private receive(message: OutputPortFromView): void {
    if (message.type === 'detach') {
      this.stop()
      this.port.close()
    } else if (message.type === 'ack' && message.bytes > 0) {
      this.unacknowledged = Math.max(0, this.unacknowledged - message.bytes)
      this.wakeForRoom?.()
    }
  }

  private async run(): Promise<void> {
    const { process } = this
    const { signal } = this.ended
    while (!signal.aborted) {
      const room = OUTPUT_WINDOW_BYTES - this.unacknowledged
      if (room <= 0) {
        await this.room()
        continue
      }
      const { eventCount } = process
      const { chunks, gap } = await process.log.read(this.cursor, Math.min(room, PAGE_BYTES), PAGE_CHUNKS)
      if (signal.aborted) return
      if (gap) this.post({ type: 'gap', ...gap })
      for (const chunk of chunks) this.sendChunk(chunk)
      if (chunks.length > 0) continue
      this.sendExit()
      if (process.isClosed) return this.finish({ type: 'closed', seq: process.closedSeq })
      if (process.state === 'failed')
        return this.finish({ type: 'failed', message: process.detail ?? 'it did not start' })
      await process.eventAfter(eventCount, Number.POSITIVE_INFINITY, signal)
    }
  }

  private sendChunk({ seq, stream, bytes }: OutputChunk): void {
    if (this.process.exitedSeq > 0 && seq > this.process.exitedSeq) this.sendExit()
    // A copy: cloning a part of a buffer would carry the whole of it across.
    this.post({ type: 'output', seq, stream, bytes: new Uint8Array(bytes) })
    this.unacknowledged += bytes.length
    this.cursor = seq
  }

  private sendExit(): void {
    const { process } = this
    if (this.isExitSent || !process.hasExited) return
    this.isExitSent = true
    const { exitSignal } = process.facts()
    this.post({
      type: 'exited',
      seq: process.exitedSeq,
      exitCode: exitSignal === undefined ? process.exitCode : null,
      exitSignal: exitSignal ?? null,
    })
  }

  private room(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.wakeForRoom = undefined
        this.ended.signal.removeEventListener('abort', done)
        resolve()
      }
      this.wakeForRoom = done
      this.ended.signal.addEventListener('abort', done, { once: true })
    })
  }

  private finish(last: OutputPortFromServer): void {
    // The view closes the port when it has read this.
    this.post(last)
    this.stop()
  }
  private fail(message: string): void {
    if (!this.ended.signal.aborted) this.finish({ type: 'failed', message })
  }
  private stop(): void {
    this.ended.abort()
  }
  private post(message: OutputPortFromServer): void {
    const { port } = this
    port.postMessage(message)
  }
}
