/** Opening a tunnel through a parent proxy, on a connection to it. */
import { MalformedHttp, MAX_HEAD_BYTES } from '../http/fields.ts'
import { parseResponseHead } from '../http/response-head.ts'
import { formatAuthority } from '../policy/authority.ts'
import type { ClientPresence } from '../client-presence.ts'
import { DialFailed } from './dialer.ts'
import type { ParentRoute } from './parent-proxy.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

const HEAD_END = Buffer.from('\r\n\r\n')
const ANSWER_LIMIT_MS = 30_000

/**
 * Asks the parent for `host:port`. Resolves with the bytes that followed its answer, once the whole head
 * of a 2xx answer is there. @throws DialFailed naming the parent; the connection is then destroyed
 */
export function connectThrough(
  upstream: UpstreamConnection,
  parent: ParentRoute,
  destination: { host: string; port: number },
  presence: ClientPresence,
): Promise<Buffer> {
  const authority = formatAuthority(destination.host, destination.port)
  const credential = parent.authorization === undefined ? '' : `Proxy-Authorization: ${parent.authorization}\r\n`
  const hop = `parent proxy ${formatAuthority(parent.host, parent.port)}`
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      presence.off(abandon)
      upstream.sink = undefined
      settle()
    }
    const fail = (problem: string) =>
      finish(() => {
        upstream.destroy()
        reject(new DialFailed('EPARENT', `${hop} ${problem}`))
      })
    const abandon = () => fail('was left by the client')
    const timer = setTimeout(() => fail('did not answer CONNECT in time'), ANSWER_LIMIT_MS)
    upstream.sink = {
      onBytes(bytes) {
        received = Buffer.concat([received, bytes])
        const end = received.indexOf(HEAD_END)
        if (end < 0) {
          if (received.length > MAX_HEAD_BYTES) fail('sent an answer to CONNECT that never ends')
          return
        }
        try {
          const { status } = parseResponseHead(received.toString('latin1', 0, end), 'CONNECT')
          if (status >= 200 && status < 300) finish(() => resolve(received.subarray(end + HEAD_END.length)))
          else if (status >= 200) fail(`refused the tunnel with status ${status}`)
          else received = received.subarray(end + HEAD_END.length)
        } catch (error) {
          if (!(error instanceof MalformedHttp)) throw error
          fail(`sent an answer to CONNECT with ${error.message}`)
        }
      },
      onEnd: () => fail('ended the connection before it had answered CONNECT'),
      onClose: () => fail('closed the connection before it had answered CONNECT'),
    }
    presence.onLeave(abandon)
    upstream.socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credential}\r\n`, 'latin1')
  })
}
