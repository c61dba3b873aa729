/** What most writers need; larger ones come in powers of two. */
export const SLAB_BYTES = 256 * 1024
/** Larger slabs are made for one message and left to the garbage collector. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024
/** Kept for the next burst, whichever connection it comes from. */
const MAX_SPARE_BYTES = 4 * 1024 * 1024

/** A piece of memory that messages are written into. */
export interface Slab {
  readonly bytes: Buffer
  /** Writes of it that the operating system has not taken yet. */
  unsent: number
}

const spare: Slab[] = []
let spareBytes = 0

/** A slab of at least `sizeBytes`, used before or new. */
export function takeSlab(sizeBytes: number): Slab {
  const index = spare.findIndex(({ bytes }) => bytes.length >= sizeBytes)
  const [found] = index < 0 ? [] : spare.splice(index, 1)
  if (!found) return { bytes: Buffer.allocUnsafeSlow(roundUp(sizeBytes)), unsent: 0 }
  spareBytes -= found.bytes.length
  return found
}

/** Nobody needs its bytes any more. */
export function giveSlab(slab: Slab): void {
  const { length } = slab.bytes
  if (length > MAX_KEPT_BYTES || spareBytes + length > MAX_SPARE_BYTES) return
  spareBytes += length
  // Smallest first, so that a small message does not take a large slab.
  const index = spare.findIndex(({ bytes }) => bytes.length >= length)
  spare.splice(index < 0 ? spare.length : index, 0, slab)
}

function roundUp(sizeBytes: number): number {
  if (sizeBytes > MAX_KEPT_BYTES) return sizeBytes
  return Math.max(SLAB_BYTES, 2 ** Math.ceil(Math.log2(sizeBytes)))
}
