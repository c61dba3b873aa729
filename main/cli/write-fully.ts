import type { Writable } from 'node:stream'

/** Writes and resolves when more may be written; what the reader does not take holds the caller back. */
export function writeFully(stream: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}
