import { base64Length } from './base64-text.ts'

/**
 * A result with one large base64 member, written straight into the outgoing message:
 * `before + base64(content) + after` is the JSON text of the result.
 *
 * `content` is either all the bytes, or blocks that are made one after the other while the client
 * takes them. Every block but the last must have a length divisible by 3. A block is written before the
 * next one is asked for, so its memory may be used again for that.
 */
export class BulkResult {
  constructor(
    readonly before: string,
    readonly content: Buffer | AsyncIterable<Buffer>,
    readonly after: string,
  ) {}
}

/** Writes `bytes` as base64 at `offset`; returns where it ends. */
export function writeBase64(target: Buffer, offset: number, bytes: Buffer): number {
  return offset + target.write(bytes.toString('base64'), offset, base64Length(bytes.length), 'latin1')
}
