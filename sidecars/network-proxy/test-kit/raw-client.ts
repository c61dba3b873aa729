/** A client that sends exactly the bytes it is told and collects what comes back. */
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface HttpAnswer {
  status: number
  phrase: string
  /** Names in lower case; the last value of each. */
  headers: Record<string, string>
  /** The head as it came. */
  head: string
  body: Buffer
}

export class RawClient {
  received = Buffer.alloc(0)
  ended = false
  closed = false
  private readonly watchers = new Set<() => void>()

  private constructor(readonly socket: Socket) {
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      this.received = Buffer.concat([this.received, bytes])
      this.changed()
    })
    socket.on('end', () => {
      this.ended = true
      this.changed()
    })
    socket.on('close', () => {
      this.closed = true
      this.changed()
    })
  }

  /** Connects; the running test owns the socket. */
  static async open(port: number, host = '127.0.0.1'): Promise<RawClient> {
    const socket = connect({ port, host, noDelay: true, allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve()
      })
    })
    return new RawClient(socket)
  }

  /** On a socket that is connected already. */
  static over(socket: Socket): RawClient {
    return new RawClient(socket)
  }

  send(bytes: string | Buffer): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** Sends `bytes` in pieces, each in a segment of its own. */
  async sendSlowly(bytes: Buffer, pieceBytes: number): Promise<this> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      await new Promise<void>((resolve) => this.socket.write(bytes.subarray(at, at + pieceBytes), () => resolve()))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return this
  }

  private changed(): void {
    for (const watcher of this.watchers) watcher()
  }

  /** Resolves when `look` finds something; rejects when the connection closes first. */
  until<T>(look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = look()
        if (found === undefined && !this.closed) return
        this.watchers.delete(check)
        if (found === undefined)
          reject(new Error(`closed after ${JSON.stringify(this.received.toString('latin1').slice(0, 300))}`))
        else resolve(found)
      }
      this.watchers.add(check)
      check()
    })
  }

  /** Takes exactly `count` bytes. */
  async take(count: number): Promise<Buffer> {
    await this.until(() => (this.received.length >= count ? true : undefined))
    const taken = this.received.subarray(0, count)
    this.received = this.received.subarray(count)
    return taken
  }

  /** Takes one response. `method` tells whether a body follows. */
  async answer(method = 'GET'): Promise<HttpAnswer> {
    const end = await this.until(() => {
      const at = this.received.indexOf('\r\n\r\n')
      return at < 0 ? undefined : at + 4
    })
    const head = (await this.take(end)).toString('latin1')
    const [line, ...fields] = head.trimEnd().split('\r\n')
    const status = Number(line!.split(' ')[1])
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    )
    const body = await this.body(headers, method === 'HEAD' || status < 200 || status === 204 || status === 304)
    return { status, phrase: line!.split(' ').slice(2).join(' '), headers, head, body }
  }

  private async body(headers: Record<string, string>, none: boolean): Promise<Buffer> {
    if (none) return Buffer.alloc(0)
    if (headers['transfer-encoding'] === 'chunked') return this.chunkedBody()
    if (headers['content-length'] !== undefined) return this.take(Number(headers['content-length']))
    await this.end()
    return this.take(this.received.length)
  }

  private async chunkedBody(): Promise<Buffer> {
    const parts: Buffer[] = []
    for (;;) {
      const lineEnd = await this.until(() => {
        const at = this.received.indexOf('\r\n')
        return at < 0 ? undefined : at + 2
      })
      const size = Number.parseInt((await this.take(lineEnd)).toString('latin1'), 16)
      if (size === 0) {
        await this.take(2)
        return Buffer.concat(parts)
      }
      parts.push(await this.take(size))
      await this.take(2)
    }
  }

  /** Resolves when the other side has ended or closed. */
  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!this.ended && !this.closed) return
        this.watchers.delete(check)
        resolve()
      }
      this.watchers.add(check)
      check()
    })
  }

  destroy(): void {
    this.socket.destroy()
  }
}

/** One request in absolute form with the Host it needs. */
export function get(url: string, more = ''): string {
  const { host } = new URL(url)
  return `GET ${url} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`
}

export function connectTo(authority: string, more = ''): string {
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${more}\r\n`
}
