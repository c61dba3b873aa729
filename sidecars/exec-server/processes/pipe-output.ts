import type { Readable } from 'node:stream'
import { takeOver } from '../streams/read-into.ts'
import { COPY_BELOW_BYTES, OutputBlock } from './output-block.ts'

export interface PipeOutputEvents {
  /** `block` holds the bytes and is the receiver's to release; without it the bytes are their own. */
  onBytes(bytes: Buffer, block: OutputBlock | undefined): void
  /** Once: nothing more can come. */
  onEnd(): void
}

/** Reads a child's pipe into blocks that are used again. */
export class PipeOutput {
  private readonly socket: Readable
  private block = new OutputBlock()
  private isPaused = false
  private isOver = false

  constructor(
    stream: Readable,
    private readonly events: PipeOutputEvents,
  ) {
    const target = { buffer: () => this.block.bytes, onRead: (bytesRead: number) => this.received(bytesRead) }
    this.socket = takeOver(stream, target, false) ?? stream
    if (this.socket === stream) stream.on('data', (bytes: Buffer) => events.onBytes(bytes, undefined))
    this.socket.on('error', () => {})
    this.socket.once('close', () => this.end())
    this.socket.resume()
  }

  pause(): void {
    this.isPaused = true
    this.socket.pause()
  }
  resume(): void {
    this.isPaused = false
    this.socket.resume()
  }
  dispose(): void {
    this.socket.destroy()
  }

  private received(bytesRead: number): boolean {
    const { block } = this
    const bytes = block.bytes.subarray(0, bytesRead)
    if (bytesRead < COPY_BELOW_BYTES) this.events.onBytes(Buffer.from(bytes), undefined)
    else {
      this.block = new OutputBlock()
      this.events.onBytes(bytes, block)
    }
    return !this.isPaused
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.block.release()
    this.events.onEnd()
  }
}
