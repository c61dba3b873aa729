/** Writes something of a known size at `offset`; returns where it ends. */
export type Fill = (target: Buffer, offset: number) => number

/** A part of a long message. `fill` is called once, before the next part is asked for. */
export interface MessagePiece {
  sizeBytes: number
  fill: Fill
}
