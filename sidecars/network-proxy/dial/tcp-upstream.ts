/**
 * A TCP or unix socket connection read through reusable buffers: the stock stream allocates 64 KiB for every read,
 * which is most of what a forwarder in Node pays.
 */
import { connect } from 'node:net'
import type { ByteSocket } from '../tcp/byte-socket.ts'
import { tcpBinding } from '../tcp/tcp-binding.ts'
import { TcpSocket, type ReadTarget } from '../tcp/tcp-socket.ts'
import { UpstreamConnection, type Ownership } from './upstream-connection.ts'

/** Shared by all connections: what is read here is copied before the call returns. */
const SHARED_BYTES = 64 * 1024
/** Lent to one connection while it moves bulk data, so that nothing is copied. */
const BULK_BYTES = 512 * 1024
/** A read of this size and more means bulk data. */
const BULK_THRESHOLD_BYTES = 32 * 1024
const MAX_FREE_BULK_BUFFERS = 8
/**
 * After so many bytes everybody else has a turn. The event loop alone would go on with one connection for 32 reads,
 * which with buffers for bulk data are more than ten milliseconds.
 */
const TURN_BYTES = 512 * 1024

const sharedBuffer = Buffer.allocUnsafeSlow(SHARED_BYTES)
const freeBulkBuffers: Buffer[] = []

/** By node:net: for unix sockets, and where there is nothing below it. */
function connectStream(address: string, port: number, onread: ReadTarget): ByteSocket {
  return connect(
    port === 0
      ? { path: address, allowHalfOpen: true, onread }
      : { host: address, port, noDelay: true, allowHalfOpen: true, onread },
  )
}

export class TcpUpstream extends UpstreamConnection {
  readonly socket: ByteSocket
  private buffer: Buffer = sharedBuffer
  private wantsBulk = false
  private paused = false
  private reading = false
  private turnBytes = 0
  /** Others have their turn. */
  private resting = false

  /**
   * Starts connecting; `connect` or `close` follows on `socket`. With port 0 the address is the path of a
   * unix socket.
   */
  constructor(address: string, port: number) {
    super(address, port)
    const target: ReadTarget = { buffer: this.nextBuffer, callback: this.onRead }
    const binding = port === 0 ? undefined : tcpBinding()
    this.socket = binding ? TcpSocket.connect(address, port, binding, target) : connectStream(address, port, target)
    this.listen(this.socket)
  }

  get ownership(): Ownership {
    return this.buffer === sharedBuffer ? 'shared' : 'lent'
  }

  pause(): void {
    this.paused = true
    // During a read its return value stops the reading.
    if (!this.reading) this.socket.pause()
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    if (!this.resting) this.socket.resume()
  }

  private readonly goOn = (): void => {
    this.resting = false
    if (!this.paused && !this.socket.destroyed) this.socket.resume()
  }

  protected override closed(): void {
    // Paused means the kernel may still be sending from the buffer: then it must not serve anybody else.
    if (!this.paused) this.returnBulkBuffer()
  }

  /** Node asks after each read; what was read has been dealt with by then, or the reading is paused. */
  private readonly nextBuffer = (): Buffer => {
    if (this.paused || this.wantsBulk === (this.buffer !== sharedBuffer)) return this.buffer
    if (this.wantsBulk) this.buffer = freeBulkBuffers.pop() ?? Buffer.allocUnsafeSlow(BULK_BYTES)
    else this.returnBulkBuffer()
    return this.buffer
  }

  private readonly onRead = (sizeBytes: number, buffer: Uint8Array): boolean => {
    this.wantsBulk = sizeBytes >= BULK_THRESHOLD_BYTES
    this.reading = true
    this.deliver((buffer as Buffer).subarray(0, sizeBytes))
    this.reading = false
    this.turnBytes += sizeBytes
    if (this.turnBytes < TURN_BYTES) return !this.paused
    this.turnBytes = 0
    this.resting = true
    setImmediate(this.goOn)
    return false
  }

  private returnBulkBuffer(): void {
    if (this.buffer === sharedBuffer) return
    if (freeBulkBuffers.length < MAX_FREE_BULK_BUFFERS) freeBulkBuffers.push(this.buffer)
    this.buffer = sharedBuffer
  }
}
