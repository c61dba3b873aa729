import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { withoutMasters } from '../streams/terminal-masters.ts'

/** The longest line that a terminal takes in canonical mode, without its line end (N_TTY_BUF_SIZE - 1). */
export const MAX_CANONICAL_LINE_BYTES = 4_095
/** How long to wait before a full terminal is tried again. */
const RETRY_MIN_MS = 2
const RETRY_MAX_MS = 50

/** Characters that end or drop the line being typed: newline, return, ^C, ^D, ^U, ^Z, ^\. */
const LINE_ENDS = new Set([0x0a, 0x0d, 0x03, 0x04, 0x15, 0x1a, 0x1c])

/** The terminal would silently cut the line off; nothing of it was written. */
export class LineTooLongError extends Error {
  constructor(readonly lineBytes: number) {
    super(
      `a line of ${lineBytes} bytes cannot be typed: the terminal is in line mode, which takes at most ` +
        `${MAX_CANONICAL_LINE_BYTES} bytes before a line end. Send shorter lines, hand the text over in a file, ` +
        'or start the process without a terminal',
    )
    this.name = 'LineTooLongError'
  }
}

/**
 * Types into the master side of a terminal, in order. Never blocks: what the terminal does not take now
 * waits here.
 */
export class PtyInput {
  private readonly queue: Buffer[] = []
  private queued = 0
  private retry: NodeJS.Timeout | undefined
  private retryMs = RETRY_MIN_MS
  /** Bytes accepted since the last line end. */
  private lineBytes = 0
  /** Writes wait for the one before while the terminal is being asked for its mode. */
  private previous: Promise<void> | undefined
  private isOver = false

  constructor(
    private readonly fd: number,
    /** The slave side, to ask for the mode; undefined when the child has ended. */
    private readonly slaveFd: () => number | undefined,
  ) {}

  get queuedBytes(): number {
    return this.queued
  }

  /**
   * Queues bytes; a promise only when the answer has to wait.
   * @throws LineTooLongError by way of the promise
   */
  write(bytes: Buffer): void | Promise<void> {
    if (this.isOver) return
    if (!this.previous && this.longestLine(bytes) <= MAX_CANONICAL_LINE_BYTES) return this.accept(bytes)
    const turn = (this.previous ?? Promise.resolve()).catch(() => {}).then(() => this.writeLongLine(bytes))
    this.previous = turn
    void this.forgetWhenSettled(turn)
    return turn
  }

  dispose(): void {
    this.isOver = true
    clearTimeout(this.retry)
    this.queue.length = 0
    this.queued = 0
  }

  private async forgetWhenSettled(turn: Promise<void>): Promise<void> {
    await turn.catch(() => {})
    if (this.previous === turn) this.previous = undefined
  }

  private async writeLongLine(bytes: Buffer): Promise<void> {
    const longest = this.longestLine(bytes)
    if (longest > MAX_CANONICAL_LINE_BYTES) {
      const slave = this.slaveFd()
      if (slave !== undefined && (await isCanonical(slave))) throw new LineTooLongError(longest)
      // Without line mode there are no lines to be too long.
      this.lineBytes = 0
    }
    if (!this.isOver) this.accept(bytes)
  }

  private longestLine(bytes: Buffer): number {
    if (this.lineBytes + bytes.length <= MAX_CANONICAL_LINE_BYTES) return this.lineBytes + bytes.length
    let current = this.lineBytes
    let longest = 0
    for (const byte of bytes) {
      if (LINE_ENDS.has(byte)) current = 0
      else if (++current > longest) longest = current
    }
    return longest
  }

  private accept(bytes: Buffer): void {
    let lastEnd = bytes.length - 1
    while (lastEnd >= 0 && !LINE_ENDS.has(bytes[lastEnd] as number)) lastEnd--
    this.lineBytes = lastEnd < 0 ? this.lineBytes + bytes.length : bytes.length - 1 - lastEnd
    this.queue.push(bytes)
    this.queued += bytes.length
    if (this.retry === undefined) this.flush()
  }

  private flush(): void {
    this.retry = undefined
    for (let next = this.queue[0]; next; next = this.queue[0]) {
      const written = this.writeNow(next)
      if (written === 'over') return this.dispose()
      if (written === 'full') {
        this.retry = setTimeout(() => this.flush(), this.retryMs)
        this.retryMs = Math.min(RETRY_MAX_MS, this.retryMs * 2)
        return
      }
      this.retryMs = RETRY_MIN_MS
      this.queued -= written
      if (written === next.length) this.queue.shift()
      else this.queue[0] = next.subarray(written)
    }
  }

  private writeNow(bytes: Buffer): number | 'full' | 'over' {
    try {
      return writeSync(this.fd, bytes)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'full' : 'over'
    }
  }
}

/**
 * Asks the terminal whether it collects lines. When nobody can tell, it is taken for a yes: refusing is
 * better than losing what was typed.
 */
function isCanonical(slaveFd: number): Promise<boolean> {
  return new Promise((resolve) => {
    const stty = spawn('stty', ['-a'], { stdio: withoutMasters([slaveFd, 'pipe', 'ignore']) })
    let text = ''
    stty.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    stty.on('error', () => resolve(true))
    stty.on('close', () => resolve(!/(^|\s)-icanon\b/.test(text)))
  })
}
