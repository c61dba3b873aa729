import { chmodSync, lstatSync, mkdirSync, statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { LinesTransport, type LinesTransportOptions } from './lines-transport.ts'

/**
 * Longest path of a unix socket, without the ending zero: sun_path has 108 bytes on Linux, 104 on macOS.
 */
export const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107

/** A socket could not be offered; `message` names the path, the problem and the next step. */
export class SocketPathError extends Error {
  override readonly name = 'SocketPathError'
}

export interface UnixListener {
  readonly path: string
  /** Stops listening, ends open connections and removes the socket file. */
  close(): Promise<void>
}

/**
 * Listens on a unix socket that only the owner can open: mode 0600 in a folder of mode 0700 (made when
 * missing; one that others can reach is refused). A socket left behind by a dead process is replaced; one that answers, or a file that is no
 * socket, is left alone.
 * @throws SocketPathError
 */
export async function listenUnix(path: string, onConnection: (socket: Socket) => void): Promise<UnixListener> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
    throw new SocketPathError(
      `${path}: longer than the ${MAX_SOCKET_PATH_BYTES} bytes a socket path may have; choose a shorter data folder`,
    )
  preparePrivateFolder(dirname(path))
  await removeStaleSocket(path)
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    // Without a listener an early reset would end the process; transports add their own.
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    onConnection(socket)
  })
  await bindPrivately(server, path)
  return {
    path,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/**
 * Connects to a unix socket.
 * @throws Error with the system's code (ENOENT, ECONNREFUSED, …), or ETIMEDOUT after `timeoutMs`
 */
export function connectUnix(path: string, timeoutMs = 5_000): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    const timer = setTimeout(() => {
      socket.destroy()
      reject(Object.assign(new Error(`${path}: no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }))
    }, timeoutMs)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', reject)
      socket.on('error', () => {})
      resolve(socket)
    })
    socket.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
  })
}

/** JSON lines over one connected socket. */
export function socketTransport(label: string, socket: Socket, options?: LinesTransportOptions): LinesTransport {
  return new LinesTransport(label, socket, socket, options)
}

function preparePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid, mode } = statSync(folder)
  if (uid !== process.getuid?.())
    throw new SocketPathError(`${folder}: belongs to another user; choose a data folder of your own`)
  // Never tightened here: it may be a folder that others share, such as /tmp.
  if ((mode & 0o077) !== 0)
    throw new SocketPathError(`${folder}: others can reach this folder; run chmod 700 on it, or choose another`)
}

async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return
  if (!found.isSocket())
    throw new SocketPathError(`${path}: a file that is not a socket is in the way; move it away and start again`)
  const state = await connectUnix(path, 1_000).then(
    (socket) => {
      socket.destroy()
      return 'in-use'
    },
    (error: NodeJS.ErrnoException) => error.code,
  )
  // Only these two say that nobody listens; a listener that is merely slow keeps its socket.
  if (state === 'ECONNREFUSED') unlinkSync(path)
  else if (state !== 'ENOENT')
    throw new SocketPathError(`${path}: another process listens there; stop it, or use another data folder`)
}

/** Until the mode is set, the mode of the folder keeps others out. */
function bindPrivately(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      chmodSync(path, 0o600)
      resolve()
    })
  })
}
