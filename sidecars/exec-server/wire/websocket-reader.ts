import { takeMessageMemory } from './message-memory.ts'
import { FrameError, OPCODE, readFrameHead, unmask, type FrameHead } from './websocket-frames.ts'

/**
 * The largest message we take. The Codex CLI ends at 64 MiB; a file of 64 MiB written in one call
 * needs 85.4 MiB of base64 around it, and that must work here.
 */
export const MAX_MESSAGE_BYTES = 96 * 1024 * 1024
const READ_BYTES = 64 * 1024
const NO_BYTES = Buffer.alloc(0)

export interface WebSocketReaderEvents {
  /** `isOwn`: the bytes are the receiver's; otherwise they are gone when the call returns. */
  onMessage(message: Buffer, isOwn: boolean): void
  onControl(opcode: number, payload: Buffer): void
}

/**
 * Cuts the byte stream of a WebSocket client into messages. Reads land in memory that is used again; a
 * frame that is longer than a read gets memory of its own, and what is left of it is read straight
 * into that.
 */
export class WebSocketReader {
  private readonly landing = Buffer.allocUnsafeSlow(READ_BYTES)
  /** Bytes that were not looked at yet: the start of a frame, or everything that came while paused. */
  private pending: Buffer = NO_BYTES
  /** The frame under way that is longer than what has arrived of it. */
  private frame: { head: FrameHead; bytes: Buffer; filled: number } | undefined
  /** The frames so far of a message in fragments. */
  private fragments: Buffer[] | undefined
  private fragmentBytes = 0
  private isPaused = false
  /** Where the next read goes; a pause may come between saying so and the read. */
  private isRoomInFrame = false

  constructor(private readonly events: WebSocketReaderEvents) {}

  /** Where the next read may go. */
  room(): Buffer {
    this.isRoomInFrame = this.frame !== undefined && !this.isPaused
    return this.frame && this.isRoomInFrame ? this.frame.bytes.subarray(this.frame.filled) : this.landing
  }

  /**
   * A read has put bytes where {@link room} said.
   * @throws FrameError
   */
  filled(bytesRead: number): void {
    const { frame } = this
    if (frame && this.isRoomInFrame) {
      unmask(frame.bytes, frame.filled, frame.filled + bytesRead, frame.head.mask, frame.filled)
      frame.filled += bytesRead
      this.finishFrame()
    } else this.push(this.landing.subarray(0, bytesRead))
  }

  /**
   * Takes bytes from anywhere; they are not kept.
   * @throws FrameError
   */
  push(chunk: Buffer): void {
    let bytes = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    this.pending = NO_BYTES
    if (this.frame && !this.isPaused) bytes = bytes.subarray(this.continueFrame(bytes))
    let offset = 0
    while (offset < bytes.length && !this.isPaused) {
      const head = readFrameHead(bytes, offset)
      if (!head) break
      this.checkSize(head)
      const start = offset + head.headBytes
      const end = start + head.payloadBytes
      if (end <= bytes.length) {
        unmask(bytes, start, end, head.mask, 0)
        offset = end
        this.takeFrame(head, bytes.subarray(start, end), false)
      } else if (head.payloadBytes <= READ_BYTES / 2) break
      else {
        this.frame = { head, bytes: takeMessageMemory(head.payloadBytes), filled: 0 }
        offset = start + this.continueFrame(bytes.subarray(start))
      }
    }
    if (offset < bytes.length) this.pending = Buffer.from(bytes.subarray(offset))
  }

  /** Keeps what comes from now on for later. */
  pause(): void {
    this.isPaused = true
  }
  /** @throws FrameError */
  resume(): void {
    this.isPaused = false
    this.push(NO_BYTES)
  }

  /** Takes what belongs to the frame under way; returns how many bytes that were. */
  private continueFrame(bytes: Buffer): number {
    const { frame } = this
    if (!frame) return 0
    const taken = bytes.copy(frame.bytes, frame.filled)
    unmask(frame.bytes, frame.filled, frame.filled + taken, frame.head.mask, frame.filled)
    frame.filled += taken
    this.finishFrame()
    return taken
  }

  private finishFrame(): void {
    const { frame } = this
    if (!frame || frame.filled < frame.bytes.length) return
    this.frame = undefined
    this.takeFrame(frame.head, frame.bytes, true)
  }

  private checkSize({ opcode, payloadBytes }: FrameHead): void {
    const before = opcode === OPCODE.continuation ? this.fragmentBytes : 0
    if (before + payloadBytes > MAX_MESSAGE_BYTES)
      throw new FrameError(`a message is over the limit of ${MAX_MESSAGE_BYTES} bytes`)
  }

  private takeFrame({ opcode, isFinal }: FrameHead, payload: Buffer, isOwn: boolean): void {
    if (opcode > OPCODE.binary) {
      if (opcode > OPCODE.pong || opcode < OPCODE.close) throw new FrameError(`unknown opcode ${opcode}`)
      return this.events.onControl(opcode, payload)
    }
    if ((opcode === OPCODE.continuation) !== (this.fragments !== undefined))
      throw new FrameError(this.fragments ? 'a message began inside another' : 'a continuation without a beginning')
    if (isFinal && !this.fragments) return this.events.onMessage(payload, isOwn)
    const fragments = (this.fragments ??= [])
    fragments.push(isOwn ? payload : Buffer.from(payload))
    this.fragmentBytes += payload.length
    if (!isFinal) return
    const message = Buffer.concat(fragments, this.fragmentBytes)
    this.fragments = undefined
    this.fragmentBytes = 0
    this.events.onMessage(message, true)
  }
}
