import type { Socket } from 'node:net'
import { listenUnix, type UnixListener } from '../../rpc/unix-socket.ts'
import { formatRefusal, isSameToken, MAX_ATTACH_BYTES, readAttach, type AttachLine } from '../client/attach-line.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import { serveLines } from './serve-lines.ts'

/** A connection that does not say at once who it is is none of ours. */
const ATTACH_LIMIT_MS = 10_000

export interface AttachOptions {
  socketPath: string
  agentToken: string
  registry: SessionRegistry
  log: (message: string) => void
}

/** Listens on `mcp.sock` for relays. @throws SocketPathError */
export function listenForAttach({ socketPath, agentToken, registry, log }: AttachOptions): Promise<UnixListener> {
  return listenUnix(socketPath, (socket) => {
    // A client that has said everything still gets its last answers.
    socket.allowHalfOpen = true
    void readFirstLine(socket).then((line) => {
      if (line === null) return socket.destroy()
      const attach = admit(line, agentToken)
      if (typeof attach === 'string') {
        log(`a connection was refused: ${attach}`)
        return socket.end(formatRefusal(attach), () => socket.destroy())
      }
      const { cwd, pid } = attach
      return serveLines(socket, socket, registry, { via: 'mcp-stdio', cwd, pid }, log)
    })
  })
}

/** The attach line, or why it is refused. */
function admit(line: string, agentToken: string): AttachLine | string {
  let attach: AttachLine
  try {
    attach = readAttach(line)
  } catch (error) {
    return `the first line must be an attach line: ${(error as Error).message}`
  }
  return isSameToken(attach.token, agentToken) ? attach : 'wrong token; it is in run/host.json of the data folder'
}

/** Bytes behind the line stay in the socket. Null when no line came. */
function readFirstLine(socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    let head = Buffer.alloc(0)
    const finish = (line: string | null) => {
      clearTimeout(timer)
      socket.off('data', onData)
      socket.off('close', onClose)
      socket.off('end', onClose)
      socket.pause()
      resolve(line)
    }
    const onClose = () => finish(null)
    const onData = (chunk: Buffer) => {
      const lineEnd = chunk.indexOf(0x0a)
      head = Buffer.concat([head, lineEnd === -1 ? chunk : chunk.subarray(0, lineEnd)])
      if (lineEnd === -1) {
        if (head.length > MAX_ATTACH_BYTES) finish(null)
        return
      }
      socket.pause()
      socket.unshift(chunk.subarray(lineEnd + 1))
      finish(head.toString('utf8'))
    }
    const timer = setTimeout(onClose, ATTACH_LIMIT_MS)
    socket.on('data', onData)
    socket.on('close', onClose)
    socket.on('end', onClose)
  })
}
