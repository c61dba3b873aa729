import { lookup } from 'node:dns/promises'
import { connect, isIP, type Socket } from 'node:net'
import { connectHost } from './http-call.ts'

/** Port of a SOCKS proxy whose URL has none. */
const DEFAULT_PORT = 1080
const SCHEMES = ['socks4', 'socks4a', 'socks5', 'socks5h'] as const
type Scheme = (typeof SCHEMES)[number]

const SOCKS5_FAILURES: Record<number, string> = {
  1: 'it failed',
  2: 'its rules do not allow it',
  3: 'the network cannot be reached',
  4: 'the host cannot be reached',
  5: 'connection refused',
  6: 'it took too long',
  7: 'it does not know the command',
  8: 'it does not know the kind of address',
}

/** A SOCKS5 proxy that was asked has said no. */
export class SocksRefusal extends Error {
  constructor(
    /** Of RFC 1928, section 6. */
    readonly code: number,
  ) {
    super(`the SOCKS proxy refused the connection: ${SOCKS5_FAILURES[code] ?? `code ${code}`}`)
    this.name = 'SocksRefusal'
  }
}

/** The URL is that of a SOCKS proxy. */
export function isSocksProxy(proxy: URL): boolean {
  return SCHEMES.some((scheme) => proxy.protocol === `${scheme}:`)
}

/**
 * A connection to `host:port` through a SOCKS proxy. With `socks5` and `socks4` the name is looked up here,
 * with `socks5h` and `socks4a` by the proxy. Rejects with words that name no user and no password; `signal`
 * ends the connection also later.
 */
export async function openSocksTunnel(
  proxy: URL,
  target: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const scheme = proxy.protocol.slice(0, -1) as Scheme
  const host = await hostFor(scheme, target.host)
  const socket = connect({ host: connectHost(proxy), port: Number(proxy.port || DEFAULT_PORT), noDelay: true })
  const onAbort = () => socket.destroy()
  signal.addEventListener('abort', onAbort, { once: true })
  socket.once('close', () => signal.removeEventListener('abort', onAbort))
  if (signal.aborted) onAbort()
  const answers = new Answers(socket)
  try {
    if (scheme.startsWith('socks5')) await askSocks5(socket, answers, proxy, host, target.port)
    else await askSocks4(socket, answers, proxy, host, target.port)
    answers.release()
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function hostFor(scheme: Scheme, host: string): Promise<string> {
  if (isIP(host) !== 0 || scheme === 'socks5h' || scheme === 'socks4a') return host
  return (await lookup(host, scheme === 'socks4' ? 4 : 0)).address
}

/** RFC 1928, and RFC 1929 where the URL has a user. */
async function askSocks5(socket: Socket, answers: Answers, proxy: URL, host: string, port: number): Promise<void> {
  const hasUser = proxy.username !== '' || proxy.password !== ''
  socket.write(Buffer.from(hasUser ? [5, 2, 0, 2] : [5, 1, 0]))
  const [version, method] = await answers.take(2)
  if (version !== 5) throw new Error('the SOCKS proxy does not speak SOCKS5')
  if (method === 2 && hasUser) {
    socket.write(Buffer.concat([Buffer.from([1]), counted(proxy.username), counted(proxy.password)]))
    const [, status] = await answers.take(2)
    if (status !== 0) throw new Error('the SOCKS proxy refused the user or the password')
  } else if (method !== 0) throw new Error('the SOCKS proxy wants a user, and its URL names none that it accepts')
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), socks5Address(host), portBytes(port)]))
  const [, status = 1, , kind = 0] = await answers.take(4)
  if (status !== 0) throw new SocksRefusal(status)
  const addressBytes = kind === 1 ? 4 : kind === 4 ? 16 : ((await answers.take(1))[0] as number)
  await answers.take(addressBytes + 2)
}

async function askSocks4(socket: Socket, answers: Answers, proxy: URL, host: string, port: number): Promise<void> {
  const isName = isIP(host) === 0
  if (isIP(host) === 6) throw new Error('the SOCKS proxy cannot be asked for an IPv6 address; use socks5')
  // An address of 0.0.0.x means: a name follows.
  const address = isName ? [0, 0, 0, 1] : host.split('.').map(Number)
  const user = Buffer.from(decoded(proxy.username))
  const name = isName ? [Buffer.from(host), Buffer.from([0])] : []
  const head = Buffer.concat([
    Buffer.from([4, 1]),
    portBytes(port),
    Buffer.from(address),
    user,
    Buffer.from([0]),
    ...name,
  ])
  socket.write(head)
  const [, status] = await answers.take(8)
  if (status !== 90) throw new Error('the SOCKS proxy refused the connection')
}

function socks5Address(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.from([1, ...host.split('.').map(Number)])
  if (isIP(host) === 6) return Buffer.from([4, ...ipv6Bytes(host)])
  const name = Buffer.from(host)
  if (name.length > 255) throw new Error('the host name is too long for a SOCKS proxy')
  return Buffer.concat([Buffer.from([3, name.length]), name])
}

/** The sixteen bytes of an address without a zone, by way of its one canonical form. */
function ipv6Bytes(host: string): number[] {
  const canonical = new URL(`http://[${host.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groupsOf = (text: string) => (text === '' ? [] : text.split(':'))
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(decoded(text))
  if (bytes.length > 255) throw new Error('the SOCKS proxy takes no user or password of more than 255 bytes')
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function portBytes(port: number): Buffer {
  return Buffer.from([port >> 8, port & 0xff])
}

/** What the proxy answers, in exact portions; what follows is the destination's. */
class Answers {
  private received = Buffer.alloc(0)
  private waiting: { count: number; resolve(bytes: Buffer): void; reject(error: Error): void } | undefined
  private failure: Error | undefined

  constructor(private readonly socket: Socket) {
    socket.on('data', this.onData)
    socket.on('error', this.onError)
    socket.on('close', this.onClose)
  }

  take(count: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.waiting = { count, resolve, reject }
      this.serve()
    })
  }

  /** The socket is the destination's from now on. */
  release(): void {
    const { socket, received } = this
    socket.pause()
    socket.off('data', this.onData)
    socket.off('error', this.onError)
    socket.off('close', this.onClose)
    if (received.length > 0) socket.unshift(received)
  }

  private readonly onData = (bytes: Buffer) => {
    this.received = Buffer.concat([this.received, bytes])
    this.serve()
  }
  private readonly onError = (error: Error) => {
    this.failure = error
  }
  private readonly onClose = () => {
    this.failure ??= new Error('the SOCKS proxy closed the connection before it had answered')
    this.serve()
  }

  private serve(): void {
    const { waiting, received } = this
    if (!waiting) return
    if (received.length >= waiting.count) {
      this.waiting = undefined
      this.received = received.subarray(waiting.count)
      waiting.resolve(received.subarray(0, waiting.count))
    } else if (this.failure) {
      this.waiting = undefined
      waiting.reject(this.failure)
    }
  }
}
