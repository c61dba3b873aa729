import { BLOCK_BYTES, COPY_BELOW_BYTES, OutputBlock } from './output-block.ts'

/** `block` holds the bytes and is the receiver's to release; without it the bytes are its own. */
export type OutputReceiver = (bytes: Buffer, block: OutputBlock | undefined) => void

/** Puts what comes in small parts one behind the other in blocks, and hands it on together. */
export class OutputJoiner {
  private block = new OutputBlock()
  /** There and not handed on: [from, to) of the block. The next part goes to `to`. */
  private from = 0
  private to = 0
  /** Somebody keeps a part of the block: it cannot be filled again from the start. */
  private isShared = false

  constructor(private readonly onOutput: OutputReceiver) {}

  /** Bytes that were not handed on. */
  get waitingBytes(): number {
    return this.to - this.from
  }

  /** Where the next part goes, of at most so many bytes and no more than a block has. Makes room by handing on. */
  room(bytes: number): Buffer {
    if (this.from === this.to && !this.isShared) this.from = this.to = 0
    if (BLOCK_BYTES - this.to < bytes) {
      this.flush()
      this.block.release()
      this.block = new OutputBlock()
      this.isShared = false
      this.from = this.to = 0
    }
    return this.block.bytes.subarray(this.to, this.to + bytes)
  }

  /** So many bytes have been put where there was room. */
  filled(bytes: number): void {
    this.to += bytes
  }

  /** Hands on what waits. */
  flush(): void {
    const { block, from, to } = this
    if (from === to) return
    this.from = to
    const bytes = block.bytes.subarray(from, to)
    if (bytes.length < COPY_BELOW_BYTES) this.onOutput(Buffer.from(bytes), undefined)
    else {
      this.isShared = true
      this.onOutput(bytes, block.retain())
    }
  }

  /** Gives its block back; what waits is forgotten. Nothing may be put anywhere after it. */
  dispose(): void {
    this.block.release()
  }
}
