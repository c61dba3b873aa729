import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import { literal, object, string } from '../../protocol/decode.ts'
import type { Carrier } from '../wire/carrier.ts'
import { LineCarrier } from '../wire/line-carrier.ts'

/** First line of one of our own clients on exec.sock. */
const attachLine = object({ gatehouse: literal('attach'), token: string, name: string })
const MAX_LINE_BYTES = 8 * 1024
/** A client that connects and says nothing does not stay. */
const ATTACH_TIMEOUT_MS = 10_000

/**
 * Reads the first line, checks its token and hands over the connection as JSON lines. A wrong or
 * missing line is answered with one line saying why, and the socket is closed.
 */
export function acceptAttached(
  socket: Socket,
  token: string,
  serve: (carrier: Carrier, name: string) => void,
  log: (line: string) => void,
): void {
  let seen = Buffer.alloc(0)
  const refuse = (reason: string) => {
    done()
    log(`exec.sock: attach refused: ${reason}`)
    socket.end(`${JSON.stringify({ gatehouse: 'refused', reason })}\n`)
  }
  const timer = setTimeout(() => refuse('no attach line within 10 s'), ATTACH_TIMEOUT_MS)
  const onData = (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk])
    const end = seen.indexOf(0x0a)
    if (end < 0) {
      if (seen.length > MAX_LINE_BYTES) refuse('the attach line is too long')
      return
    }
    const name = nameOf(seen.subarray(0, end).toString('utf8'), token)
    if (name === null)
      return refuse('the first line must be {"gatehouse":"attach","token":…,"name":…} with the right token')
    done()
    socket.pause()
    if (seen.length > end + 1) socket.unshift(seen.subarray(end + 1))
    serve(new LineCarrier(`socket ${name}`, socket, socket), name)
  }
  const done = () => {
    clearTimeout(timer)
    socket.off('data', onData)
  }
  socket.on('data', onData)
  socket.on('close', done)
}

function nameOf(line: string, token: string): string | null {
  try {
    const attach = attachLine(JSON.parse(line), 'attach')
    return sameText(attach.token, token) ? attach.name : null
  } catch {
    return null
  }
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
