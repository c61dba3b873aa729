import { Socket, type SocketConstructorOpts } from 'node:net'
import type { Readable } from 'node:stream'
import { COPY_BELOW_BYTES, OutputBlock } from './output-block.ts'

/** Options that every Socket of Node has and its types leave out: a handle, and reads into our memory. */
export interface ReadIntoOptions extends SocketConstructorOpts {
  handle?: unknown
  manualStart?: boolean
  onread: { buffer: () => Uint8Array; callback: (bytesRead: number) => boolean }
}

export interface PipeOutputEvents {
  /** `block` holds the bytes and is the receiver's to release; without it the bytes are their own. */
  onBytes(bytes: Buffer, block: OutputBlock | undefined): void
  /** Once: nothing more can come. */
  onEnd(): void
}

/**
 * Reads a child's pipe into blocks that are used again. A child's own stream would make a new buffer
 * for every read; its handle is taken over by a socket that reads where we say.
 */
export class PipeOutput {
  private readonly socket: Readable
  private block = new OutputBlock()
  private isPaused = false
  private isOver = false

  constructor(
    stream: Readable,
    private readonly events: PipeOutputEvents,
  ) {
    this.socket = takeOver(stream, {
      buffer: () => this.block.bytes,
      callback: (bytesRead) => this.received(bytesRead),
    })
    // A stream whose handle cannot be had still delivers.
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

function takeOver(stream: Readable, onread: ReadIntoOptions['onread']): Readable {
  const owner = stream as Readable & { _handle?: unknown }
  const handle = owner._handle
  if (handle === undefined || handle === null) return stream
  owner._handle = null
  const options: ReadIntoOptions = { handle, readable: true, writable: false, manualStart: true, onread }
  return new Socket(options)
}
