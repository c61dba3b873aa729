/** A TCP connection right on the runtime's handle: what node:net does for every stream, we need a part of. */
import { EventEmitter } from 'node:events'
import { isIPv6, Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'
import type { ByteSocket } from './byte-socket.ts'
import type { ConnectRequest, EndpointName, TcpBinding, TcpHandle, WriteRequest } from './tcp-binding.ts'

/** Where reads go, for those who do not want a copy of each in `data`. */
export interface ReadTarget {
  /** Memory for the next read; asked for before each. */
  buffer(): Uint8Array
  /** The read has put so many bytes there. False stops reading until `resume`. */
  callback(sizeBytes: number, buffer: Uint8Array): boolean
}

/** From here on a writer is told to wait (the high-water mark of node:net since version 22). */
const BEHIND_BYTES = 64 * 1024
/** End of stream (UV_EOF of libuv's uv.h). */
const END_OF_STREAM = -4095
/** The other side has reset the connection: there is no half left to end. */
const NOT_CONNECTED = 'ENOTCONN'
/** Private by name, yet the same since the first versions of Node. */
const HANDLE = '_handle'
const SHARED_BYTES = 64 * 1024
/** Of all reads without a target: what is in there is copied before anybody else reads. */
export const sharedBuffer = Buffer.allocUnsafeSlow(SHARED_BYTES)

/** A write that the kernel did not take at once. */
interface PendingWrite extends WriteRequest {
  socket?: TcpSocket
  /** Keeps the memory, which the runtime only points to, from being collected. */
  data?: Uint8Array | readonly Uint8Array[] | string
  sizeBytes?: number
  onTaken?: (() => void) | undefined
}

/** One that was not used: the runtime keeps only those that have to wait. */
let spareWrite: PendingWrite | undefined

export class TcpSocket extends EventEmitter implements ByteSocket {
  connecting = false
  destroyed = false
  readableEnded = false
  writableEnded = false
  writableFinished = false
  writableLength = 0
  writableNeedDrain = false
  /** Where the next read goes. */
  private readInto: Uint8Array
  private isReading = false
  private isPaused = true
  private corked: Uint8Array[] | undefined
  /** Has the connection since it was given away. */
  private stream: Socket | undefined

  /** Owns `handle`, which is connected or about to be. Reads nothing before `resume`. */
  constructor(
    private readonly handle: TcpHandle,
    private readonly binding: TcpBinding,
    private target?: ReadTarget,
  ) {
    super()
    this.readInto = target?.buffer() ?? sharedBuffer
    handle.onread = this.onRead
    handle.useUserBuffer(this.readInto)
  }

  /** Starts connecting to a literal address; `connect` follows, and reading begins, or `error` and `close`. */
  static connect(address: string, port: number, binding: TcpBinding, target?: ReadTarget): TcpSocket {
    const socket = new TcpSocket(new binding.Tcp(binding.SOCKET), binding, target)
    socket.startConnecting(address, port)
    return socket
  }

  /**
   * Takes the connection of a stream of node:net, which must not be used any more; what it has read already stays
   * with it. Undefined when it has none of this kind, or is still writing; then nothing has changed. Reads nothing
   * before `resume`.
   */
  static takenFrom(stream: Socket, binding: TcpBinding, target: ReadTarget): TcpSocket | undefined {
    const owner = stream as { [HANDLE]?: unknown }
    const handle = owner[HANDLE]
    if (!(handle instanceof binding.Tcp) || stream.writableLength > 0) return undefined
    owner[HANDLE] = null
    handle.readStop()
    return new TcpSocket(handle, binding, target)
  }

  private startConnecting(address: string, port: number): void {
    this.connecting = true
    this.isPaused = false
    const request: ConnectRequest = new this.binding.TCPConnectWrap()
    request.oncomplete = (status) => this.connected(status)
    const { handle } = this
    const status = isIPv6(address) ? handle.connect6(request, address, port) : handle.connect(request, address, port)
    if (status !== 0) process.nextTick(() => this.connected(status))
  }

  private connected(status: number): void {
    if (this.destroyed) return
    this.connecting = false
    if (status !== 0) return this.fail(status, 'connect')
    this.handle.setNoDelay(true)
    if (this.writableEnded) this.startShutdown()
    this.emit('connect')
    if (!this.isPaused) this.resume()
  }

  get writable(): boolean {
    return !this.destroyed && !this.writableEnded && !this.stream
  }
  get localAddress(): string | undefined {
    return this.localName().address
  }
  get localPort(): number | undefined {
    return this.localName().port
  }
  get remoteAddress(): string | undefined {
    return this.remoteName().address
  }
  get remotePort(): number | undefined {
    return this.remoteName().port
  }

  private localName(): EndpointName {
    const name: EndpointName = {}
    if (!this.destroyed) this.handle.getsockname(name)
    return name
  }
  private remoteName(): EndpointName {
    const name: EndpointName = {}
    if (!this.destroyed) this.handle.getpeername(name)
    return name
  }

  pause(): void {
    this.isPaused = true
    this.stopReading()
  }

  resume(): void {
    this.isPaused = false
    if (this.isReading || this.connecting || this.destroyed || this.stream || this.readableEnded) return
    this.isReading = true
    const status = this.handle.readStart()
    if (status !== 0) this.fail(status, 'read')
  }

  /** Reads go there from now on, without one to `data`; the next one may still use memory of before. */
  readTo(target: ReadTarget | undefined): void {
    this.target = target
  }

  private stopReading(): void {
    if (!this.isReading) return
    this.isReading = false
    this.handle.readStop()
  }

  private readonly onRead = (): Uint8Array | undefined => {
    const { state, readCountAt } = this.binding
    const count = state[readCountAt]!
    if (count > 0) return this.received(count)
    if (count < 0) this.readFailed(count)
    return undefined
  }

  private received(sizeBytes: number): Uint8Array | undefined {
    const { target } = this
    if (!target) {
      this.emit('data', Buffer.from(this.readInto.subarray(0, sizeBytes)))
      return (this.readInto = sharedBuffer)
    }
    if (!target.callback(sizeBytes, this.readInto)) this.stopReading()
    return this.destroyed ? undefined : (this.readInto = target.buffer())
  }

  private readFailed(status: number): void {
    this.isReading = false
    if (status !== END_OF_STREAM) return this.fail(status, 'read')
    this.readableEnded = true
    this.emit('end')
    this.closeWhenOver()
  }

  write(data: Uint8Array | string, option?: (() => void) | 'latin1'): boolean {
    const onTaken = typeof option === 'function' ? option : undefined
    // What somebody waits for goes at once, behind what was gathered.
    if (onTaken && this.corked) this.uncork()
    if (!this.writable) return false
    if (this.corked) {
      this.corked.push(typeof data === 'string' ? Buffer.from(data, 'latin1') : data)
      return !this.writableNeedDrain
    }
    const request = this.nextWrite()
    const { handle } = this
    const status =
      typeof data === 'string' ? handle.writeLatin1String(request, data) : handle.writeBuffer(request, data)
    return this.written(status, request, data, data.length, onTaken)
  }

  cork(): void {
    this.corked ??= []
  }

  uncork(): void {
    const { corked } = this
    this.corked = undefined
    if (!corked || corked.length === 0 || this.destroyed) return
    if (corked.length === 1) return void this.write(corked[0]!)
    const request = this.nextWrite()
    const sizeBytes = corked.reduce((sum, { length }) => sum + length, 0)
    this.written(this.handle.writev(request, corked, true), request, corked, sizeBytes, undefined)
  }

  private nextWrite(): PendingWrite {
    const request = spareWrite ?? (new this.binding.WriteWrap() as PendingWrite)
    spareWrite = undefined
    return request
  }

  private written(
    status: number,
    request: PendingWrite,
    data: PendingWrite['data'] & {},
    sizeBytes: number,
    onTaken: (() => void) | undefined,
  ): boolean {
    const { state, lastWriteWasAsyncAt } = this.binding
    if (status !== 0) {
      spareWrite = request
      this.fail(status, 'write')
      return false
    }
    if (state[lastWriteWasAsyncAt] === 0) {
      spareWrite = request
      return true
    }
    request.socket = this
    request.data = data
    request.sizeBytes = sizeBytes
    request.onTaken = onTaken
    request.oncomplete = writeTaken
    this.writableLength += sizeBytes
    if (this.writableLength >= BEHIND_BYTES) this.writableNeedDrain = true
    return !this.writableNeedDrain
  }

  /** @internal The kernel has taken a write that had to wait. */
  taken(status: number, sizeBytes: number, onTaken: (() => void) | undefined): void {
    this.writableLength -= sizeBytes
    if (this.destroyed) return
    if (status !== 0) return this.fail(status, 'write')
    onTaken?.()
    if (this.writableLength > 0 || !this.writableNeedDrain || this.destroyed) return
    this.writableNeedDrain = false
    this.emit('drain')
  }

  end(): void {
    this.uncork()
    if (!this.writable) return
    this.writableEnded = true
    // The runtime would take a connection that is shut down while it is made for one that stands.
    if (!this.connecting) this.startShutdown()
  }

  private startShutdown(): void {
    const request: WriteRequest = new this.binding.ShutdownWrap()
    request.oncomplete = (status) => this.shutDown(status)
    const status = this.handle.shutdown(request)
    if (status !== 0) process.nextTick(() => this.shutDown(status))
  }

  private shutDown(status: number): void {
    if (this.destroyed) return
    // What came before the reset can be read still; the next read tells of it.
    if (status !== 0 && getSystemErrorName(status) !== NOT_CONNECTED) return this.fail(status, 'shutdown')
    this.writableFinished = true
    this.emit('finish')
    this.closeWhenOver()
  }

  private closeWhenOver(): void {
    if (this.readableEnded && this.writableFinished) this.destroy()
  }

  destroySoon(): void {
    if (this.destroyed) return
    this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  destroy(error?: Error): void {
    if (this.stream) return void this.stream.destroy(error)
    if (this.destroyed) return
    this.destroyed = true
    this.handle.close(() => this.closed(error))
  }

  resetAndDestroy(): void {
    if (this.stream) return void this.stream.resetAndDestroy()
    if (this.destroyed) return
    // A handle whose reset fails can never be closed again (`resetSocket` says when it would).
    if (this.connecting || (this.writableEnded && !this.writableFinished)) return this.destroy()
    this.destroyed = true
    this.handle.reset(() => this.closed(undefined))
  }

  private closed(error: Error | undefined): void {
    if (error) this.emit('error', error)
    this.emit('close')
  }

  private fail(status: number, call: string): void {
    this.destroy(systemError(status, call))
  }

  /**
   * Gives the connection to a stream of node:net, for what is made of such streams: TLS. `unread` comes first when
   * it is read. Nothing may be waiting to be written. What is destroyed here is destroyed there from now on; the
   * stream can only be read through TLS, which reads by itself. Of a connection that is gone it is destroyed.
   */
  intoStream(unread?: Buffer): Socket {
    if (this.destroyed) return new Socket().destroy()
    this.stopReading()
    const { handle } = this
    // Memory that lives as long as the process: nobody here looks after it any more.
    handle.useUserBuffer(sharedBuffer)
    const options = { handle, readable: true, writable: true, allowHalfOpen: true, manualStart: true }
    this.stream = new Socket(options as ConstructorParameters<typeof Socket>[0])
    this.stream.on('error', () => {
      // Whoever owns the stream learns of it by its close.
    })
    if (unread) this.stream.unshift(unread)
    return this.stream
  }
}

function writeTaken(this: PendingWrite, status: number): void {
  const { socket, sizeBytes, onTaken } = this
  socket!.taken(status, sizeBytes!, onTaken)
}

/** An error as those of node:net: `code` is the system's, such as ECONNRESET. */
function systemError(status: number, call: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(status)
  const { stackTraceLimit } = Error
  // Where it was made tells nothing, and noting it down costs as much as a system call.
  Error.stackTraceLimit = 0
  const error = new Error(`${call} ${code}`)
  Error.stackTraceLimit = stackTraceLimit
  return Object.assign(error, { code, errno: status, syscall: call })
}

/** The same connection as a stream of node:net; see `TcpSocket.intoStream`. */
export function asStream(socket: ByteSocket, unread?: Buffer): Socket {
  if (socket instanceof TcpSocket) return socket.intoStream(unread)
  const stream = socket as Socket
  if (unread) stream.unshift(unread)
  return stream
}
