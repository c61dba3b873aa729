import { dropped } from '../streams/large-garbage.ts'

/** From this size on memory is worth being used again; smaller pieces are the allocator's. */
export const LARGE_MESSAGE_BYTES = 1024 * 1024
/** Larger pieces are not kept: few messages need them. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024
/** One piece is kept for the next message, and no longer than this. */
const KEEP_MS = 1_000

/** Lent pieces: what comes back must be one of them, and comes once. */
const lent = new WeakSet<ArrayBufferLike>()
let spare: Buffer | undefined
let keeping: NodeJS.Timeout | undefined

/**
 * Memory for a long message of a client, exactly `sizeBytes` of it, with anything in it. Who writes one large file
 * writes several: new memory for each would cost a fault for every page and several collections a second.
 */
export function takeMessageMemory(sizeBytes: number): Buffer {
  if (sizeBytes < LARGE_MESSAGE_BYTES) return Buffer.allocUnsafeSlow(sizeBytes)
  const memory = spare && spare.length >= sizeBytes ? spare : newMemory(sizeBytes)
  if (memory === spare) forgetSpare()
  lent.add(memory.buffer)
  return memory.subarray(0, sizeBytes)
}

/** Nobody looks at the message any more. Also takes what was never lent, and leaves that to the collector. */
export function giveMessageMemory({ buffer, length }: Buffer): void {
  const isKept = lent.delete(buffer) && buffer.byteLength <= MAX_KEPT_BYTES
  if (!isKept || (spare && spare.length >= buffer.byteLength)) return dropped(length)
  const smaller = forgetSpare()
  if (smaller) dropped(smaller.length)
  spare = Buffer.from(buffer as ArrayBuffer)
  keeping = setTimeout(() => dropped(forgetSpare()?.length ?? 0), KEEP_MS).unref()
}

function forgetSpare(): Buffer | undefined {
  const forgotten = spare
  clearTimeout(keeping)
  spare = undefined
  return forgotten
}

/** A little more than asked for, so that the next message of about that size fits, too. */
function newMemory(sizeBytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.ceil(sizeBytes / LARGE_MESSAGE_BYTES) * LARGE_MESSAGE_BYTES)
}
