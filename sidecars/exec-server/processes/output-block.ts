/** One read's worth: what a pipe holds on Linux. */
export const BLOCK_BYTES = 64 * 1024
/** Less than this is copied out of its block: keeping 64 KiB alive for it would be waste. */
export const COPY_BELOW_BYTES = 16 * 1024
/** Blocks kept for the next flood (4 MiB); the rest is left to the garbage collector. */
const MAX_SPARE = 64

const spare: Buffer[] = []

/**
 * Memory that output is read into, used over and over: a flood of output would otherwise make garbage
 * faster than it can be collected, and every new page of memory costs the system a fault.
 *
 * It is used again when its last user has released it. Whoever looks at output without being a user
 * must be done, or have a copy, by the end of the turn of the event loop.
 */
export class OutputBlock {
  readonly bytes: Buffer = spare.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  private users = 1

  retain(): this {
    this.users++
    return this
  }
  release(): void {
    if (--this.users === 0 && spare.length < MAX_SPARE) spare.push(this.bytes)
  }
}
