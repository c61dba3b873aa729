import type { SocketConstructorOpts } from 'node:net'

/** Where reads go. */
export interface ReadTarget {
  /** Memory for the next read; asked for once before each. */
  buffer(): Uint8Array
  /** The read has put so many bytes there. False pauses. */
  onRead(bytesRead: number): boolean
}

/** Options that every Socket of Node has and its types leave out. */
export interface ReadIntoOptions extends SocketConstructorOpts {
  onread: { buffer: () => Uint8Array; callback: (bytesRead: number) => boolean }
}

export function readIntoOptions(target: ReadTarget): ReadIntoOptions {
  return {
    onread: { buffer: () => target.buffer(), callback: (bytesRead) => target.onRead(bytesRead) },
  }
}
