/**
 * The runtime's own TCP handles, the layer below node:net: what a `Socket` of node:net costs on top of them is more
 * than half of what a proxied connection costs (docs/performance.md). They are reached by `process.binding`, which
 * every Node has and calls deprecated. Where a runtime has it no more, or it looks otherwise than here, connections
 * are made by node:net.
 */
import type { Server } from 'node:net'

/** A connection or a listener of libuv. Methods return 0, or a negative error number of the system. */
export interface TcpHandle {
  /** Called after each read, with the count of bytes or an error in `state[readCountAt]`; may return the next buffer. */
  onread: ((this: TcpHandle) => Uint8Array | undefined) | undefined
  /** Of listeners: called with each accepted connection. */
  onconnection?: (status: number, client: TcpHandle | undefined) => void
  readStart(): number
  readStop(): number
  /** Where reads go from now on. */
  useUserBuffer(buffer: Uint8Array): void
  writeBuffer(request: WriteRequest, bytes: Uint8Array): number
  writeLatin1String(request: WriteRequest, text: string): number
  writev(request: WriteRequest, pieces: readonly Uint8Array[], areAllBuffers: true): number
  shutdown(request: EndRequest): number
  connect(request: ConnectRequest, address: string, port: number): number
  connect6(request: ConnectRequest, address: string, port: number): number
  setNoDelay(isOn: boolean): number
  getpeername(into: EndpointName): number
  getsockname(into: EndpointName): number
  close(onClosed: () => void): void
  /** Like `close`, with a reset. On an error nothing is closed, and `close` does nothing any more. */
  reset(onClosed: () => void): number
}

export interface EndpointName {
  address?: string
  port?: number
}

/** Kept by the runtime until it is complete. */
export interface WriteRequest {
  handle?: TcpHandle
  oncomplete?: (status: number) => void
}
export type EndRequest = WriteRequest
export type ConnectRequest = WriteRequest

export interface TcpBinding {
  Tcp: new (type: number) => TcpHandle
  SOCKET: number
  WriteWrap: new () => WriteRequest
  ShutdownWrap: new () => EndRequest
  TCPConnectWrap: new () => ConnectRequest
  /** What the last call of a handle had to say. */
  state: Int32Array
  readCountAt: number
  lastWriteWasAsyncAt: number
}

let loaded: { binding: TcpBinding | undefined } | undefined

/** Undefined when this runtime has no such handles. */
export function tcpBinding(): TcpBinding | undefined {
  loaded ??= { binding: load() }
  return loaded.binding
}

/** The handle of a listener, if it is one whose connections can be taken over. */
export function listeningHandle(server: Server, { Tcp }: TcpBinding): TcpHandle | undefined {
  const { _handle } = server as Server & { _handle?: unknown }
  return _handle instanceof Tcp && typeof _handle.onconnection === 'function' ? _handle : undefined
}

function load(): TcpBinding | undefined {
  try {
    const tcp = binding('tcp_wrap')
    const stream = binding('stream_wrap')
    const found = {
      Tcp: tcp.TCP,
      SOCKET: (tcp.constants as { SOCKET: number }).SOCKET,
      TCPConnectWrap: tcp.TCPConnectWrap,
      WriteWrap: stream.WriteWrap,
      ShutdownWrap: stream.ShutdownWrap,
      state: stream.streamBaseState,
      readCountAt: stream.kReadBytesOrError,
      lastWriteWasAsyncAt: stream.kLastWriteWasAsync,
    } as TcpBinding
    return isComplete(found) ? found : undefined
  } catch {
    return undefined
  }
}

/** Tells a deprecation to nobody: whoever runs this cannot do anything about it. */
function binding(name: string): Record<string, unknown> {
  const { noDeprecation } = process
  process.noDeprecation = true
  try {
    const find = (process as unknown as { binding: (name: string) => Record<string, unknown> }).binding
    return find.call(process, name)
  } finally {
    process.noDeprecation = noDeprecation
  }
}

const METHODS = [
  'readStart',
  'readStop',
  'useUserBuffer',
  'writeBuffer',
  'writeLatin1String',
  'writev',
  'shutdown',
  'connect',
  'connect6',
  'setNoDelay',
  'getpeername',
  'getsockname',
  'close',
  'reset',
] as const

function isComplete(found: TcpBinding): boolean {
  const { Tcp, SOCKET, WriteWrap, ShutdownWrap, TCPConnectWrap, state, readCountAt, lastWriteWasAsyncAt } = found
  const areThere =
    [Tcp, WriteWrap, ShutdownWrap, TCPConnectWrap].every((value) => typeof value === 'function') &&
    [SOCKET, readCountAt, lastWriteWasAsyncAt].every((value) => Number.isInteger(value)) &&
    state instanceof Int32Array
  if (!areThere) return false
  const prototype = Tcp.prototype as Record<string, unknown>
  return METHODS.every((name) => typeof prototype[name] === 'function')
}
