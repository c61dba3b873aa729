import { Socket } from 'node:net'
import { readIntoOptions } from '../streams/read-into.ts'
import { COPY_BELOW_BYTES, OutputBlock } from './output-block.ts'

export interface PipeOutputEvents {
  /** `block` holds the bytes and is the receiver's to release; without it the bytes are their own. */
  onBytes(bytes: Buffer, block: OutputBlock | undefined): void
  /** Once: nothing more is read. `isEmpty`: because every writer has closed the pipe. */
  onEnd(isEmpty: boolean): void
}

/** Reads a child's pipe into blocks that are used again. */
export class PipeOutput {
  private readonly socket: Socket
  private block = new OutputBlock()
  private isPaused = false
  private isEmpty = false

  constructor(
    fd: number,
    private readonly events: PipeOutputEvents,
  ) {
    this.socket = new Socket({
      ...readIntoOptions({ buffer: () => this.block.bytes, onRead: (bytesRead) => this.received(bytesRead) }),
      fd,
      readable: true,
      writable: false,
    })
    this.socket.on('error', () => {})
    this.socket.once('end', () => (this.isEmpty = true))
    this.socket.once('close', () => {
      this.block.release()
      events.onEnd(this.isEmpty)
    })
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
}
