import { createServer as createWeb, type Server as Web } from 'node:http'
import { createServer as createSecureWeb } from 'node:https'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MethodCaller } from '../../testing/method-caller.ts'
import { SELF_SIGNED } from '../../testing/self-signed.ts'
import { MethodTable } from '../wire/method-table.ts'
import { registerHttpMethods } from './http-methods.ts'

/** What a SOCKS proxy is asked for, and what it does. */
interface Behaviour {
  /** Code in the answer to the request; 0 (SOCKS5) and 90 (SOCKS4) are yes. */
  status: number
  /** User and password that are wanted; undefined lets everybody in. */
  user?: string
  /** Bytes per packet of the proxy's own answers. */
  pieceBytes: number
  says?: Buffer
}

let web: Web
let secure: Web
let proxy: Server
let behaviour: Behaviour
let asked: string[]
let environment: Record<string, string>
let caller: MethodCaller
const open = new Set<Socket>()
const portOf = (server: Server | Web) => (server.address() as AddressInfo).port
const listen = (server: Server | Web) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))

beforeAll(async () => {
  web = createWeb((request, response) => response.end(`${request.method} ${request.url} ${request.headers.host}`))
  secure = createSecureWeb(SELF_SIGNED, (_, response) => response.end('secret'))
  proxy = createServer((socket) => void serve(socket).catch(() => socket.destroy()))
  await Promise.all([listen(web), listen(secure), listen(proxy)])
})
afterAll(() => {
  for (const socket of open) socket.destroy()
  for (const server of [web, secure]) server.closeAllConnections()
  for (const server of [web, secure, proxy]) server.close()
})
beforeEach(() => {
  behaviour = { status: 0, pieceBytes: 1024 }
  asked = []
  environment = {}
  const table = new MethodTable()
  registerHttpMethods(table, { environment: () => environment })
  caller = new MethodCaller(table)
})
afterEach(() => caller.close())

/** A SOCKS proxy that takes every name for this machine. */
async function serve(client: Socket): Promise<void> {
  open.add(client)
  client.once('close', () => open.delete(client))
  client.on('error', () => {})
  const reader = client[Symbol.asyncIterator]()
  let held = Buffer.alloc(0)
  const take = async (count: number): Promise<Buffer> => {
    while (held.length < count) {
      const { value, done } = (await reader.next()) as { value: Buffer; done?: boolean }
      if (done) throw new Error('the client has gone')
      held = Buffer.concat([held, value])
    }
    const taken = held.subarray(0, count)
    held = held.subarray(count)
    return taken
  }
  const text = async () => {
    let said = ''
    for (let byte = (await take(1))[0]; byte; byte = (await take(1))[0]) said += String.fromCharCode(byte)
    return said
  }
  const say = (bytes: number[]) => {
    for (let at = 0; at < bytes.length; at += behaviour.pieceBytes)
      client.write(Buffer.from(bytes.slice(at, at + behaviour.pieceBytes)))
  }
  if (behaviour.says) return void client.end(behaviour.says)
  const [version] = await take(1)
  let host: string
  let port: number
  let isAllowed: boolean
  if (version === 4) {
    const head = await take(7)
    port = head.readUInt16BE(1)
    const user = await text()
    host = head[3] === 0 && head[4] === 0 && head[5] === 0 ? await text() : head.subarray(3).join('.')
    asked.push(`4 ${user}@${host}:${port}`)
    isAllowed = behaviour.status === 90
    say([0, behaviour.status, 0, 0, 0, 0, 0, 0])
  } else {
    const methods = await take((await take(1))[0] as number)
    if (behaviour.user !== undefined) {
      if (!methods.includes(2)) return void client.end(Buffer.from([5, 255]))
      say([5, 2])
      await take(1)
      const name = String(await take((await take(1))[0] as number))
      const password = String(await take((await take(1))[0] as number))
      say([1, behaviour.user === `${name}:${password}` ? 0 : 1])
    } else say([5, 0])
    const [, , , kind] = await take(4)
    if (kind === 1) host = (await take(4)).join('.')
    else if (kind === 4) host = (await take(16)).toString('hex')
    else host = String(await take((await take(1))[0] as number))
    port = (await take(2)).readUInt16BE()
    asked.push(`5 ${host}:${port}`)
    isAllowed = behaviour.status === 0
    // A bound address that is a name, which is allowed and hardly ever seen.
    say([5, behaviour.status, 0, 3, 2, 0x61, 0x62, 0, 0])
  }
  if (!isAllowed) return void client.end()
  const destination = connect(port, '127.0.0.1')
  destination.on('error', () => client.destroy())
  destination.once('close', () => client.destroy())
  destination.pipe(client)
  if (held.length > 0) destination.write(held)
  for (;;) {
    const { value, done } = (await reader.next()) as { value: Buffer; done?: boolean }
    if (done) return
    destination.write(value)
  }
}

const ask = async (url: string, more: object = {}) => {
  const params = { method: 'GET', url, requestId: 'r', ...more }
  const { bodyBase64 } = (await caller.call('http/request', params)) as { bodyBase64: string }
  return Buffer.from(bodyBase64, 'base64').toString()
}
const at = (scheme: string, user = '') => `${scheme}://${user}127.0.0.1:${portOf(proxy)}`

describe('http/request by way of a SOCKS proxy', () => {
  it.each([
    ['socks5h', 'some.test', '5 some.test', 0],
    ['socks5h', '127.0.0.1', '5 127.0.0.1', 0],
    ['socks5h', '[::1]', `5 ${'0'.repeat(31)}1`, 0],
    ['socks5h', '[2001:db8::5:0:1]', '5 20010db8000000000000000500000001', 0],
    ['socks5', 'localhost', expect.stringMatching(/^5 (127\.0\.0\.1|0{31}1):/), 0],
    ['socks4a', 'some.test', '4 @some.test', 90],
    ['socks4', 'localhost', '4 @127.0.0.1', 90],
  ])('%s asks for %s', async (scheme, host, request, status) => {
    behaviour.status = status
    environment.ALL_PROXY = at(scheme)
    expect(await ask(`http://${host}:${portOf(web)}/a?b`)).toBe(`GET /a?b ${host}:${portOf(web)}`)
    expect(asked).toEqual([typeof request === 'string' ? `${request}:${portOf(web)}` : request])
  })

  it('shows the user that the URL names, decoded', async () => {
    behaviour.user = 'me@home:p:w'
    environment.HTTP_PROXY = at('socks5h', 'me%40home:p%3Aw@')
    expect(await ask(`http://some.test:${portOf(web)}/`)).toContain('GET /')
    behaviour = { status: 90, pieceBytes: 1 }
    environment.HTTP_PROXY = at('socks4a', 'me@')
    expect(await ask(`http://some.test:${portOf(web)}/`)).toContain('GET /')
    expect(asked.at(-1)).toBe(`4 me@some.test:${portOf(web)}`)
  })

  it('understands answers that come byte by byte', async () => {
    behaviour.pieceBytes = 1
    environment.ALL_PROXY = at('socks5h')
    expect(await ask(`http://some.test:${portOf(web)}/`)).toContain('GET /')
  })

  it('reaches https, whose certificate is still looked at', async () => {
    environment.HTTPS_PROXY = at('socks5h')
    await expect(ask(`https://localhost:${portOf(secure)}/`)).rejects.toThrow(/certificate is self-signed/)
    expect(asked).toEqual([`5 localhost:${portOf(secure)}`])
  })

  it('leaves alone what NO_PROXY names', async () => {
    environment.ALL_PROXY = at('socks5h')
    environment.NO_PROXY = '127.0.0.1'
    expect(await ask(`http://127.0.0.1:${portOf(web)}/`)).toContain('GET /')
    expect(asked).toEqual([])
  })

  it.each<[string, Partial<Behaviour>, string, RegExp]>([
    ['refuses', { status: 2 }, 'socks5h', /the SOCKS proxy refused the connection: its rules do not allow it$/],
    ['refuses with a code of its own', { status: 99 }, 'socks5h', /code 99$/],
    ['refuses by version 4', { status: 91 }, 'socks4a', /the SOCKS proxy refused the connection$/],
    ['wants a user', { user: 'a:b' }, 'socks5h', /the SOCKS proxy wants a user/],
    [
      'is no SOCKS proxy',
      { says: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n') },
      'socks5h',
      /does not speak SOCKS5$/,
    ],
    ['closes at once', { says: Buffer.alloc(0) }, 'socks5h', /closed the connection before it had answered$/],
  ])('says so when the proxy %s', async (_, how, scheme, message) => {
    Object.assign(behaviour, how)
    environment.ALL_PROXY = at(scheme)
    await expect(ask('http://some.test/secret?query')).rejects.toThrow(message)
    await expect(ask('http://some.test/secret?query')).rejects.not.toThrow(/query/)
  })

  it('a wrong password is never told', async () => {
    behaviour.user = 'me:right'
    environment.ALL_PROXY = at('socks5h', 'me:wrong@')
    const failure = await ask('http://some.test/').catch((error: Error) => error.message)
    expect(failure).toContain('the SOCKS proxy refused the user or the password')
    expect(failure).not.toContain('wrong')
  })

  it('waits no longer than it may for a proxy that says nothing, and leaves no connection', async () => {
    const held = new Set<Socket>()
    const silent = createServer((socket) => {
      held.add(socket)
      socket.resume().once('close', () => held.delete(socket))
    })
    await listen(silent)
    environment.ALL_PROXY = `socks5h://127.0.0.1:${portOf(silent)}`
    await expect(ask('http://some.test/', { timeoutMs: 50 })).rejects.toThrow()
    await expect.poll(() => held.size).toBe(0)
    silent.close()
  })
})
