/** What most messages need; larger slabs come in powers of two. */
export const SLAB_BYTES = 256 * 1024
/** Larger slabs are made for one message and left to the garbage collector. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024
/** Kept for the next burst, whichever connection it comes from. */
const MAX_SPARE_BYTES = 4 * 1024 * 1024

/** A piece of memory that messages are written into. It has one owner at a time, or is a spare one. */
export interface Slab {
  readonly bytes: Buffer
  /** Writes of it that the operating system has not taken yet. */
  unsent: number
}

/** Of the usual size. */
const spare: Slab[] = []
/** Smallest first. */
const largeSpare: Slab[] = []
let spareBytes = 0

/** A slab of at least `sizeBytes`, used before or new. What is in it is somebody else's: nothing of it may be sent. */
export function takeSlab(sizeBytes: number): Slab {
  const found = sizeBytes <= SLAB_BYTES ? spare.pop() : takeLarge(sizeBytes)
  if (!found) return { bytes: Buffer.allocUnsafeSlow(roundUp(sizeBytes)), unsent: 0 }
  spareBytes -= found.bytes.length
  return found
}

/** Nobody needs its bytes any more; to be called once by its owner. */
export function giveSlab(slab: Slab): void {
  const { length } = slab.bytes
  if (length > MAX_KEPT_BYTES || spareBytes + length > MAX_SPARE_BYTES) return
  spareBytes += length
  if (length === SLAB_BYTES) spare.push(slab)
  else {
    const index = largeSpare.findIndex(({ bytes }) => bytes.length >= length)
    largeSpare.splice(index < 0 ? largeSpare.length : index, 0, slab)
  }
}

function takeLarge(sizeBytes: number): Slab | undefined {
  const index = largeSpare.findIndex(({ bytes }) => bytes.length >= sizeBytes)
  return index < 0 ? undefined : largeSpare.splice(index, 1)[0]
}

function roundUp(sizeBytes: number): number {
  if (sizeBytes > MAX_KEPT_BYTES) return sizeBytes
  return Math.max(SLAB_BYTES, 2 ** Math.ceil(Math.log2(sizeBytes)))
}
