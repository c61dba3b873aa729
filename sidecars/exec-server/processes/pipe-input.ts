import { closeSync, constants, openSync } from 'node:fs'
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
    fd: number,
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
    if (this.socket.writable) this.socket.write(bytes)
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
