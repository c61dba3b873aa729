/** What the proxy and the exec server ask of a connection: met by `TcpSocket`, and by the sockets of node:net and node:tls. */
export interface ByteSocket {
  readonly connecting: boolean
  readonly destroyed: boolean
  /** Takes writes still. */
  readonly writable: boolean
  /** The other side has ended its half, and all of it was read. */
  readonly readableEnded: boolean
  /** `end` was called. */
  readonly writableEnded: boolean
  /** Our end of stream is on its way, behind all that was written. */
  readonly writableFinished: boolean
  /** Bytes that the kernel has not taken yet. */
  readonly writableLength: number
  readonly writableNeedDrain: boolean
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined

  /**
   * Queues bytes, which nobody may change until the kernel has them. `onTaken` is called when it has, at the
   * latest; a socket whose kernel took them at once may leave that out.
   */
  write(bytes: Uint8Array, onTaken?: () => void): boolean
  write(text: string, encoding: 'latin1'): boolean
  /** Writes are gathered until `uncork`. */
  cork(): void
  uncork(): void
  /** Ends our half behind all that was written. */
  end(): unknown
  /** Stops reading; what was not read stays in the kernel. */
  pause(): unknown
  /** Reads on, and the first time at all. */
  resume(): unknown
  /** Closes at once; `close` follows, after `error` if there is one. */
  destroy(error?: Error): unknown
  /** Ends our half, then closes. */
  destroySoon(): void
  /** Closes with a reset. Throws where there is none (TLS, unix sockets); see `resetSocket`. */
  resetAndDestroy(): unknown

  on(event: 'data', listener: (bytes: Buffer) => void): unknown
  on(event: 'connect' | 'end' | 'drain' | 'finish' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  once(event: 'connect' | 'end' | 'drain' | 'finish' | 'close', listener: () => void): unknown
  off(event: 'data', listener: (bytes: Buffer) => void): unknown
  off(event: 'connect' | 'end' | 'drain' | 'finish' | 'close', listener: () => void): unknown
}
