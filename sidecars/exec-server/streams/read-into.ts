import { Socket, type SocketConstructorOpts } from 'node:net'

/** Private by name, yet the same since the first versions of Node. */
const HANDLE = '_handle'

/** Where reads go. */
export interface ReadTarget {
  /** Memory for the next read; asked for once before each. */
  buffer(): Uint8Array
  /** The read has put so many bytes there. False pauses. */
  onRead(bytesRead: number): boolean
}

/** Options that every Socket of Node has and its types leave out. */
export interface ReadIntoOptions extends SocketConstructorOpts {
  handle?: unknown
  manualStart?: boolean
  onread: { buffer: () => Uint8Array; callback: (bytesRead: number) => boolean }
}

export function readIntoOptions(target: ReadTarget): ReadIntoOptions {
  return {
    onread: { buffer: () => target.buffer(), callback: (bytesRead) => target.onRead(bytesRead) },
  }
}

/**
 * A socket that reads into memory of our choice, in place of `stream`, which must not be used any more.
 * Node makes a new buffer for every read of its own streams and offers the other way only for sockets
 * one opens oneself, so the handle is taken over. Undefined when it cannot be had; `stream` is then as
 * it was. Starts reading with `resume`.
 */
export function takeOver(stream: object, target: ReadTarget, isWritable: boolean): Socket | undefined {
  const owner = stream as { [HANDLE]?: unknown }
  const handle = owner[HANDLE]
  if (handle === undefined || handle === null) return undefined
  owner[HANDLE] = null
  return new Socket({
    ...readIntoOptions(target),
    handle,
    readable: true,
    writable: isWritable,
    manualStart: true,
  } as ReadIntoOptions)
}
