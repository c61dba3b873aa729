import type { Socket } from 'node:net'
import { constants } from 'node:os'
import ipaddr from 'ipaddr.js'
import { openSocksTunnel, SocksRefusal } from '../../http/socks-tunnel.ts'
import { answerName } from './name-answer.ts'
import { NameBook } from './name-book.ts'
import { KIND } from './redirector-script.ts'

const { EACCES, ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT } = constants.errno
/** Reply codes of RFC 1928 as connect(2) would say it; 2 is a rule's. */
const ERRNO: Record<number, number> = {
  2: EACCES,
  3: ENETUNREACH,
  4: EHOSTUNREACH,
  5: ECONNREFUSED,
  6: ETIMEDOUT,
  8: EHOSTUNREACH,
}

/** What becomes of the redirected connections of one command: each goes through its SOCKS proxy, by name. */
export class Redirection {
  private readonly names = new NameBook()

  constructor(
    /** With `socks5h`: names are looked up by whoever decides about them. */
    private readonly proxy: URL,
  ) {}

  /**
   * Takes over a connection of the redirector. One byte names the kind. Names: queries and answers as DNS has them over
   * TCP. A stream: length and bytes of an address, two bytes of port; one byte comes back, 0 or the number of an
   * error, and behind a 0 it is the connection.
   */
  async serve(socket: Socket): Promise<void> {
    const kind = (await take(socket, 1))?.[0]
    if (kind === KIND.stream) await this.connect(socket)
    else if (kind === KIND.names) await this.answer(socket)
    else socket.destroy()
  }

  private async connect(socket: Socket): Promise<void> {
    const length = (await take(socket, 1))?.[0]
    const address = length === 4 || length === 16 ? await take(socket, length) : undefined
    const port = (await take(socket, 2))?.readUInt16BE()
    if (!address || port === undefined) return void socket.destroy()
    const gone = new AbortController()
    socket.once('close', () => gone.abort())
    // Nothing comes before the answer, only the end.
    const look = () => void (socket.read() === null || socket.destroy())
    const end = () => void socket.destroy()
    socket.on('readable', look).on('end', end)
    try {
      const host = this.names.nameOf(address) ?? ipaddr.fromByteArray([...address]).toString()
      const outside = await openSocksTunnel(this.proxy, { host, port }, gone.signal)
      outside.allowHalfOpen = true
      outside.on('error', () => outside.destroy())
      outside.once('close', () => socket.destroy())
      socket.off('readable', look).off('end', end)
      socket.write(Buffer.from([0]))
      socket.pipe(outside).pipe(socket)
    } catch (error) {
      socket.end(Buffer.from([error instanceof SocksRefusal ? (ERRNO[error.code] ?? ECONNREFUSED) : ENETUNREACH]))
      socket.once('finish', () => socket.destroy())
    }
  }

  private async answer(socket: Socket): Promise<void> {
    for (;;) {
      const length = (await take(socket, 2))?.readUInt16BE()
      const query = length ? await take(socket, length) : undefined
      const answer = query && answerName(query, (name) => this.names.addressOf(name))
      if (!answer) return void socket.destroy()
      const counted = Buffer.alloc(2)
      counted.writeUInt16BE(answer.length)
      socket.write(Buffer.concat([counted, answer]))
    }
  }
}

/** Exactly so many bytes; undefined when it ends before. */
async function take(socket: Socket, count: number): Promise<Buffer | undefined> {
  for (;;) {
    const bytes = socket.read(count) as Buffer | null
    if (bytes !== null) return bytes.length === count ? bytes : undefined
    if (socket.destroyed || socket.readableEnded) return undefined
    await new Promise<void>((resolve) => {
      const wake = () => {
        for (const event of EVENTS) socket.off(event, wake)
        resolve()
      }
      for (const event of EVENTS) socket.on(event, wake)
    })
  }
}
const EVENTS = ['readable', 'end', 'close'] as const
