import type { Fill } from './message-piece.ts'

/**
 * A result whose JSON text is written straight into the outgoing message instead of being made as a
 * string: exactly `sizeBytes` bytes at `offset`.
 */
export class WrittenResult {
  constructor(
    readonly sizeBytes: number,
    readonly write: Fill,
  ) {}
}
