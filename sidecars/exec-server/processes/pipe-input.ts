import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'

/** How soon after its end the pipe is looked after, and how often later. */
const WAKE_MIN_MS = 1
const WAKE_MAX_MS = 1_000

/**
 * Writes a child's standard input into a named pipe. Who opens a named pipe by its name or as `/dev/stdin` when
 * nobody writes to it any more would wait for ever, where any other pipe would show its end. So once the
 * input has ended, the pipe gets a writer for a moment, again and again while somebody could still
 * open it: whoever waits goes on and finds the end.
 */
export class PipeInput {
  private readonly socket: Socket
  private timer: NodeJS.Timeout | undefined
  private waitMs = WAKE_MIN_MS

  constructor(
    private readonly fd: number,
    private readonly path: string,
  ) {
    this.socket = new Socket({ fd, readable: false, writable: true })
    // A reader that went away; the exit says the rest.
    this.socket.on('error', () => {})
    this.socket.once('close', () => this.wakeLater())
  }

  get queuedBytes(): number {
    return this.socket.writableLength
  }
  /** Ignored when the end was asked for or nobody reads any more. */
  write(bytes: Buffer): void {
    if (!this.socket.writable) return
    // What a person types goes on its way at once; the stream is for what the pipe has no room for.
    const written = this.socket.writableLength === 0 ? this.writeNow(bytes) : 0
    if (written < bytes.length) this.socket.write(bytes.subarray(written))
  }
  /** Ends it after what is queued. */
  end(): void {
    this.socket.end()
  }
  /** The child has closed or is given up. */
  dispose(): void {
    this.waitMs = Infinity
    clearTimeout(this.timer)
    this.socket.destroy()
  }

  /** Does not wait: the stream has made the descriptor so. What is wrong with the pipe is the stream's to find out. */
  private writeNow(bytes: Buffer): number {
    try {
      return writeSync(this.fd, bytes)
    } catch {
      return 0
    }
  }

  private wakeLater(): void {
    if (this.waitMs === Infinity) return
    this.timer = setTimeout(() => this.wake(), this.waitMs).unref()
    this.waitMs = Math.min(WAKE_MAX_MS, this.waitMs * 2)
  }

  private wake(): void {
    try {
      // Does not wait, and fails when nobody has it open for reading: then nobody can get at it any more.
      closeSync(openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK))
      this.wakeLater()
    } catch {
      // The last reader has gone.
    }
  }
}
