import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { withoutMasters } from './terminal-masters.ts'

/** Made in one go: two for each of some thirty processes. */
const BATCH = 64
/** New ones are made when fewer are left. */
const LOW = 24
const MAX_BATCH = 512

/** A real pipe: what is written to one descriptor comes out of the other. */
export interface OpenPipe {
  readFd: number
  writeFd: number
  /** To be given back when both ends are closed everywhere; otherwise the name is removed. */
  path: string
}

/**
 * Pipes for children's standard streams.
 *
 * Node gives a child sockets where it says "pipe", and a socket cannot be opened by name: `echo x >
 * /dev/stderr`, `tee /dev/stdout` and `cat /dev/stdin` fail with ENXIO. Named pipes behave as every
 * program expects. Node cannot make them either, so `mkfifo` makes them in advance, many at a time.
 */
export class FifoPool {
  private readonly free: string[] = []
  private readonly waiting: { resolve(path: string): void; reject(error: Error): void }[] = []
  private maker: ChildProcess | undefined
  private isClosed = false
  private made = 0

  constructor(
    /** Existing private folder. */
    private readonly folder: string,
  ) {}

  /** Makes the first ones ahead of need. */
  prepare(): void {
    if (this.free.length < LOW) this.make()
  }

  /**
   * Opens a pipe. The reading end does not block; closing both is the caller's.
   * Rejects when no pipe can be made.
   */
  async open(): Promise<OpenPipe> {
    const path = this.free.pop() ?? (await this.next())
    if (this.free.length < LOW) this.make()
    // In this order neither call waits for the other end.
    const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      return { path, readFd, writeFd: openSync(path, constants.O_WRONLY) }
    } catch (error) {
      closeSync(readFd)
      throw error
    }
  }

  /** Nobody has the pipe open any more: its next user finds it empty. */
  giveBack(path: string): void {
    const waiter = this.waiting.shift()
    if (waiter) waiter.resolve(path)
    else this.free.push(path)
  }

  /** Somebody may still have it open: only the name goes. */
  remove(path: string): void {
    try {
      unlinkSync(path)
    } catch {
      // The folder has been removed before us.
    }
  }

  private next(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject })
      this.make()
    })
  }

  /** Makes no more. When it resolves nothing of ours appears in the folder any longer. */
  async close(): Promise<void> {
    this.isClosed = true
    const { maker } = this
    if (!maker) return
    maker.kill('SIGKILL')
    await new Promise((resolve) => maker.once('close', resolve).once('error', resolve))
  }

  private make(): void {
    if (this.maker) return
    if (this.isClosed) {
      this.finish([], new Error('the server is closing'))
      return
    }
    const count = Math.min(MAX_BATCH, BATCH + 2 * this.waiting.length)
    const names = Array.from({ length: count }, () => `pipe-${this.made++}`)
    const maker = spawn('mkfifo', ['-m', '600', ...names], {
      cwd: this.folder,
      env: { PATH: `${process.env.PATH ?? ''}:/usr/bin:/bin` },
      stdio: withoutMasters(['ignore', 'ignore', 'pipe']),
    })
    this.maker = maker
    let said = ''
    maker.stderr.on('data', (bytes) => (said += String(bytes)))
    const done = (made: string[], error?: Error) => {
      if (this.maker !== maker) return
      this.maker = undefined
      this.finish(made, error)
    }
    maker.once('error', (error) => done([], error))
    maker.once('close', (code) =>
      code === 0 ? done(names) : done([], new Error(`mkfifo failed: ${said.trim() || `exit code ${code}`}`)),
    )
  }

  private finish(names: string[], error: Error | undefined): void {
    for (const name of names) this.giveBack(join(this.folder, name))
    if (error) for (const { reject } of this.waiting.splice(0)) reject(error)
    else if (this.waiting.length > 0) this.make()
  }
}
