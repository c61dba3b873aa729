import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect, createServer as createPlainServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SELF_SIGNED } from '../../testing/self-signed.ts'
import { MethodCaller } from '../../testing/method-caller.ts'
import { MethodTable } from '../wire/method-table.ts'
import { registerHttpMethods } from './http-methods.ts'

interface Seen {
  method: string
  url: string
  headers: [string, string][]
  body: string
}
type Delta = { requestId: string; seq: number; deltaBase64: string; done: boolean; error: string | null }

let web: Server
let origin: string
let seen: Seen[]
let open: Set<Socket>
let caller: MethodCaller
let environment: Record<string, string | undefined>

beforeAll(async () => {
  web = createServer((request, response) => void answer(request, response))
  open = new Set()
  web.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
})
afterAll(() => {
  web.closeAllConnections()
  web.close()
})
beforeEach(() => {
  seen = []
  environment = { TOKEN: 'sec ret', EMPTY: '' }
  const table = new MethodTable()
  registerHttpMethods(table, { environment: () => environment })
  caller = new MethodCaller(table)
})
afterEach(() => caller.close())

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const { method = '', url = '', rawHeaders } = request
  const headers = rawHeaders.flatMap((name, i): [string, string][] =>
    i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1] as string]] : [],
  )
  seen.push({
    method,
    url,
    headers: headers.filter(([name]) => name !== 'connection'),
    body: String(Buffer.concat(parts)),
  })
  const [, path = '', rest = ''] = /^\/([a-z]*\d*)(.*)$/.exec(url) ?? []
  const redirect = /^r(\d+)$/.exec(path)
  if (redirect) response.writeHead(Number(redirect[1]), { location: rest === '' ? '/ok' : rest.slice(1) }).end('moved')
  else if (path === 'gzip')
    response.writeHead(200, { 'content-encoding': 'gzip', 'x-a': ['1', '2'] }).end(gzipSync('hello'))
  else if (path === 'notgzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip')
  else if (path === 'br') response.writeHead(200, { 'content-encoding': 'br' }).end('as it is')
  else if (path === 'loop') response.writeHead(302, { location: '/loop' }).end()
  else if (path === 'lost') response.writeHead(302).end('where to?')
  else if (path === 'broken') {
    response.writeHead(200, { 'content-length': '100' })
    response.write('part', () => request.socket.destroy())
  } else if (path === 'slow') {
    response.writeHead(200)
    for (let i = 0; i < 4 && !response.destroyed; i++) {
      response.write(`x${i}`)
      await wait(40)
    }
    response.end()
  } else if (path === 'raw')
    request.socket.end(
      'HTTP/1.1 200 OK\r\nX-Bad: \xff\xfe\r\nX-Utf: \xc3\xa9\r\nX-R: 1\r\nx-r: 2\r\ncontent-length: 2\r\n\r\nok',
      'latin1',
    )
  else if (path === 'big') response.writeHead(200, { 'x-big': 'a'.repeat(60_000) }).end('ok')
  else if (path === 'large') response.end(Buffer.alloc(3_000_000, 'z'))
  else if (path === 'endless') response.writeHead(200).write('first')
  else if (path !== 'hang') response.end(method === 'HEAD' ? undefined : 'ok')
}

let count = 0
const ask = (params: Record<string, unknown>) =>
  caller.call('http/request', { method: 'GET', requestId: `q${++count}`, ...params, url: absolute(params.url) })
const absolute = (url: unknown) => (typeof url === 'string' && url.startsWith('/') ? origin + url : url)
const bodyOf = ({ bodyBase64 }: Record<string, unknown>) => Buffer.from(bodyBase64 as string, 'base64').toString()
const headersOf = (result: Record<string, unknown>) => result.headers as { name: string; value: string }[]
const deltas = (requestId: string) =>
  caller.notifications.filter((n) => n.params.requestId === requestId).map((n) => n.params as unknown as Delta)
const ended = (requestId: string) => vi.waitUntil(() => deltas(requestId).at(-1)?.done, { timeout: 20_000 })
const streamedText = (requestId: string) =>
  Buffer.concat(deltas(requestId).map((d) => Buffer.from(d.deltaBase64, 'base64'))).toString()

describe('what is sent', () => {
  it('has defaults unless the caller says otherwise', async () => {
    await ask({ url: '/ok' })
    await ask({
      url: '/ok',
      headers: [
        { name: 'Accept', value: 'a/b' },
        { name: 'accept-encoding', value: 'identity' },
      ],
    })
    const host: [string, string] = ['host', origin.slice('http://'.length)]
    expect(seen[0]?.headers).toEqual([['accept', '*/*'], ['accept-encoding', expect.stringContaining('gzip')], host])
    expect(seen[1]?.headers).toEqual([['accept', 'a/b'], ['accept-encoding', 'identity'], host])
  })
  it('keeps repeated headers, UTF-8 and the method as given', async () => {
    const headers = [
      { name: 'X-A', value: '1' },
      { name: 'x-b', value: 'é' },
      { name: 'x-a', value: '2' },
      { name: 'Host', value: 'other.test' },
    ]
    await ask({ url: '/ok', method: 'PATCH', headers })
    expect(seen[0]?.method).toBe('PATCH')
    expect(seen[0]?.headers.slice(0, 4)).toEqual([
      ['x-a', '1'],
      ['x-a', '2'],
      ['x-b', Buffer.from('é').toString('latin1')],
      ['host', 'other.test'],
    ])
  })
  it('has a method in lower case as it was written', async () => {
    const lines: string[] = []
    const plain = createPlainServer((socket) =>
      socket.once('data', (bytes) => {
        lines.push(String(bytes).split('\r\n', 1)[0] as string)
        socket.end('HTTP/1.1 204 No Content\r\n\r\n')
      }),
    )
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    try {
      await ask({ url: `http://127.0.0.1:${(plain.address() as AddressInfo).port}/x`, method: 'get' })
      expect(lines).toEqual(['get /x HTTP/1.1'])
    } finally {
      plain.close()
    }
  })
  it('has a body in chunks when the caller says so', async () => {
    const headers = [{ name: 'transfer-encoding', value: 'chunked' }]
    expect(await ask({ url: '/ok', method: 'POST', headers, bodyBase64: 'aGk=' })).toMatchObject({ status: 200 })
    expect(seen[0]).toMatchObject({ method: 'POST', body: 'hi' })
  })
  it.each([['GET'], ['POST'], ['PUT'], ['DELETE']])('has the body, with %s too', async (method) => {
    await ask({ url: '/ok', method, bodyBase64: 'aGk=' })
    expect(seen[0]).toMatchObject({ method, body: 'hi' })
    expect(seen[0]?.headers).toContainEqual(['content-length', '2'])
  })
  it('gets secrets from the environment of the server', async () => {
    await ask({ url: '/ok', headers: [{ name: 'authorization', value: 'Bearer ', valueEnvVar: 'TOKEN' }] })
    expect(seen[0]?.headers[0]).toEqual(['authorization', 'Bearer sec ret'])
  })
  it('turns a user in the URL into a header', async () => {
    await ask({ url: `${origin.replace('//', '//user:pa%20ss@')}/ok?q=1` })
    expect(seen[0]?.url).toBe('/ok?q=1')
    expect(seen[0]?.headers[0]).toEqual(['authorization', `Basic ${Buffer.from('user:pa ss').toString('base64')}`])
  })
})

describe('what is refused before anything is sent', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ url: '/ok', method: 'B AD' }, 'http/request method is invalid: invalid HTTP method'],
    [{ url: '/ok', method: '' }, 'http/request method is invalid: invalid HTTP method'],
    [{ url: 'ftp://x/' }, 'http/request only supports http and https URLs, got ftp'],
    [{ url: 'nope' }, 'http/request url is invalid: relative URL without a base'],
    [{ url: 'http://' }, 'http/request url is invalid: empty host'],
    [
      { url: '/ok', headers: [{ name: 'a b', value: '' }] },
      'http/request header name is invalid: invalid HTTP header name',
    ],
    [
      { url: '/ok', headers: [{ name: 'X', value: 'a\nb' }] },
      'http/request header value is invalid for x: failed to parse header value',
    ],
    [
      { url: '/ok', headers: [{ name: 'authorization', value: '', valueEnvVar: 'NONE' }] },
      'http/request header authorization requires executor environment variable NONE',
    ],
    [
      { url: '/ok', headers: [{ name: 'authorization', value: '', valueEnvVar: 'EMPTY' }] },
      'http/request header authorization requires a non-empty executor environment variable EMPTY',
    ],
  ])('%j', async (params, message) => {
    await expect(ask(params)).rejects.toMatchObject({ code: -32602, message })
    expect(seen).toEqual([])
  })
  it.each([
    [{ headers: null }],
    [{ headers: [{ name: 'x' }] }],
    [{ bodyBase64: 'aGk' }],
    [{ redirectPolicy: null }],
    [{ redirectPolicy: 'sometimes' }],
    [{ streamResponse: null }],
    [{ timeoutMs: -1 }],
    [{ requestId: undefined }],
  ])('ill-typed parameters: %j', async (params) => {
    await expect(ask({ url: '/ok', ...params })).rejects.toMatchObject({ code: -32602 })
  })
})

describe('the answer', () => {
  it('is decoded, and its headers say so', async () => {
    const result = await ask({ url: '/gzip' })
    expect(bodyOf(result)).toBe('hello')
    const names = headersOf(result).map((h) => h.name)
    expect(names).not.toContain('content-encoding')
    expect(headersOf(result).filter((h) => h.name === 'x-a')).toEqual([
      { name: 'x-a', value: '1' },
      { name: 'x-a', value: '2' },
    ])
  })
  it('stays as it is in an encoding nobody asked for', async () => {
    const result = await ask({ url: '/br' })
    expect(bodyOf(result)).toBe('as it is')
    expect(headersOf(result)).toContainEqual({ name: 'content-encoding', value: 'br' })
  })
  it('leaves out header values that are not UTF-8', async () => {
    expect(headersOf(await ask({ url: '/raw' }))).toEqual([
      { name: 'x-utf', value: 'é' },
      { name: 'x-r', value: '1' },
      { name: 'x-r', value: '2' },
      { name: 'content-length', value: '2' },
    ])
  })
  it('may have large headers, and may be large', async () => {
    expect(headersOf(await ask({ url: '/big' })).find((h) => h.name === 'x-big')?.value).toHaveLength(60_000)
    expect(bodyOf(await ask({ url: '/large' }))).toBe('z'.repeat(3_000_000))
  })
  it.each([['HEAD', '']])('to %s has no body', async (method, body) => {
    expect(bodyOf(await ask({ url: '/ok', method }))).toBe(body)
  })
  it.each([['/notgzip'], ['/broken']])('of %s that cannot be read is an error', async (url) => {
    await expect(ask({ url })).rejects.toMatchObject({
      code: -32603,
      message: 'failed to read http/request response body: error decoding response body',
    })
  })
})

describe('redirects', () => {
  const post = {
    method: 'POST',
    bodyBase64: 'aGk=',
    headers: [
      { name: 'authorization', value: 'a' },
      { name: 'cookie', value: 'c=1' },
      { name: 'x-key', value: 'k-', valueEnvVar: 'TOKEN' },
      { name: 'x-plain', value: 'v' },
      { name: 'content-type', value: 't/x' },
    ],
  }
  const namesOf = (i: number) => seen[i]?.headers.map(([name]) => name)

  it.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'hi'],
    [308, 'POST', 'hi'],
  ])('%i of a POST becomes a %s', async (status, method, body) => {
    expect(bodyOf(await ask({ url: `/r${status}`, ...post }))).toBe('ok')
    expect(seen[1]).toMatchObject({ method, url: '/ok', body })
    expect(seen[1]?.headers).toContainEqual(['referer', `${origin}/r${status}`])
    expect(namesOf(1)?.includes('content-type')).toBe(body !== '')
    expect(namesOf(1)).toContain('authorization')
  })
  it('to another host take no secrets along', async () => {
    const elsewhere = origin.replace('127.0.0.1', 'localhost')
    await ask({ url: `/r307/${elsewhere}/ok`, ...post })
    expect(namesOf(1)).toContain('x-plain')
    expect(namesOf(1)).toContain('content-type')
    for (const name of ['authorization', 'cookie', 'x-key']) expect(namesOf(1)).not.toContain(name)
    expect(seen[1]?.headers).toContainEqual(['referer', `${origin}/`])
  })
  it('are not followed when that is asked', async () => {
    expect(await ask({ url: '/r302', redirectPolicy: 'stop' })).toMatchObject({ status: 302 })
    expect(seen).toHaveLength(1)
  })
  it.each([['/lost'], ['/r302/http://[']])('without a usable place to go are the answer: %s', async (url) => {
    expect(await ask({ url })).toMatchObject({ status: 302 })
  })
  it.each([
    ['/loop', 'http/request failed: too many redirects'],
    ['/r302/ftp://x/', 'http/request failed: redirect target uses unsupported URL scheme: ftp'],
  ])('%s fails', async (url, message) => {
    await expect(ask({ url })).rejects.toMatchObject({ code: -32603, message })
  })
  it('ten are followed', async () => {
    await expect(ask({ url: '/loop' })).rejects.toThrow()
    expect(seen).toHaveLength(11)
  })
})

describe('failures', () => {
  it('name the place without user, password and query', async () => {
    const failing = ask({ url: 'http://user:pass@127.0.0.1:9/x?secret=1#part' })
    await expect(failing).rejects.toMatchObject({
      code: -32603,
      message: 'http/request failed: error sending request for url (http://127.0.0.1:9/x): connection refused',
    })
  })
  it('in time: no answer, at once, and in the middle of the body', async () => {
    await expect(ask({ url: '/hang', timeoutMs: 30 })).rejects.toMatchObject({ code: -32603 })
    await expect(ask({ url: '/ok', timeoutMs: 0 })).rejects.toMatchObject({
      message: 'http/request failed: request timed out',
    })
    await expect(ask({ url: '/endless', timeoutMs: 1_000 })).rejects.toMatchObject({
      message: 'failed to read http/request response body: error decoding response body',
    })
  })
  it('a tunnel is no request', async () => {
    await expect(ask({ url: '/ok', method: 'CONNECT' })).rejects.toMatchObject({ code: -32603 })
  })
})

describe('streamed answers', () => {
  it('come as numbered parts behind the head, with an empty last one', async () => {
    const result = await ask({ url: '/slow', streamResponse: true, requestId: 's' })
    expect(result).toMatchObject({ status: 200, bodyBase64: '' })
    expect(deltas('s')).toEqual([])
    await ended('s')
    expect(deltas('s').map((d) => d.seq)).toEqual(deltas('s').map((_, i) => i + 1))
    expect(streamedText('s')).toBe('x0x1x2x3')
    expect(deltas('s').at(-1)).toMatchObject({ deltaBase64: '', done: true, error: null })
  })
  it('never come in parts over 1 MiB', async () => {
    await ask({ url: '/large', streamResponse: true, requestId: 's' })
    await ended('s')
    expect(Math.max(...deltas('s').map((d) => d.deltaBase64.length))).toBeLessThan(1_048_576)
    expect(streamedText('s')).toBe('z'.repeat(3_000_000))
  })
  it.each([
    ['/broken', undefined, 'part'],
    ['/endless', 1_000, 'first'],
    ['/notgzip', undefined, ''],
  ])('%s that break off say so after what had come', async (url, timeoutMs, text) => {
    await ask({ url, timeoutMs, streamResponse: true, requestId: 's' })
    await ended('s')
    expect(deltas('s').at(-1)).toMatchObject({ done: true, error: 'error decoding response body' })
    expect(streamedText('s').startsWith(text)).toBe(true)
  })
  it('keep their id until the last part', async () => {
    await ask({ url: '/slow', streamResponse: true, requestId: 's' })
    await expect(ask({ url: '/ok', streamResponse: true, requestId: 's' })).rejects.toMatchObject({
      code: -32602,
      message: 'http/request streamResponse requestId `s` is already active',
    })
    expect(await ask({ url: '/ok', requestId: 's' })).toMatchObject({ status: 200 })
    await ended('s')
    expect(await ask({ url: '/ok', streamResponse: true, requestId: 's' })).toMatchObject({ status: 200 })
  })
  it('that fail before the head leave their id free', async () => {
    await expect(ask({ url: 'http://127.0.0.1:9/', streamResponse: true, requestId: 's' })).rejects.toThrow()
    expect(await ask({ url: '/ok', streamResponse: true, requestId: 's' })).toMatchObject({ status: 200 })
  })
  it('wait for a client that takes less', async () => {
    caller.carrier.isCongested = true
    await ask({ url: '/large', streamResponse: true, requestId: 's' })
    await vi.waitUntil(() => deltas('s').length === 1, 20_000)
    await wait(30)
    expect(deltas('s')).toHaveLength(1)
    caller.carrier.isCongested = false
    caller.carrier.handlers?.onDrained()
    await ended('s')
    expect(streamedText('s')).toHaveLength(3_000_000)
  })
})

describe('a request that nobody wants any more', () => {
  it('is ended by http/cancel, whole or streamed', async () => {
    const whole = ask({ url: '/hang', requestId: 'w' })
    await vi.waitUntil(() => seen.length === 1, 20_000)
    await caller.call('http/cancel', { requestId: 'w' })
    await expect(whole).rejects.toMatchObject({ code: -32603 })
    await ask({ url: '/endless', streamResponse: true, requestId: 's' })
    await caller.call('http/cancel', { requestId: 's' })
    await ended('s')
    await vi.waitUntil(() => open.size === 0, 20_000)
    expect(await caller.call('http/cancel', { requestId: 'unknown' })).toEqual({})
  })
  it('ends with its connection', async () => {
    await ask({ url: '/endless', streamResponse: true })
    void ask({ url: '/hang' })
    await vi.waitUntil(() => seen.length === 2, 20_000)
    caller.close()
    await vi.waitUntil(() => open.size === 0, 20_000)
  })
})

describe('by way of a proxy', () => {
  let proxy: Server
  let lines: string[]
  beforeEach(async () => {
    lines = []
    proxy = createServer((request, response) => {
      lines.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`)
      response.end('from the proxy')
    })
    proxy.on('connect', (request, socket) => {
      lines.push(`CONNECT ${request.url} ${request.headers['proxy-authorization'] ?? ''}`)
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const url = `http://u:p%40@127.0.0.1:${(proxy.address() as AddressInfo).port}`
    environment = { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: '' }
  })
  afterEach(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const authorization = `Basic ${Buffer.from('u:p@').toString('base64')}`

  it('plain requests are handed over whole', async () => {
    expect(bodyOf(await ask({ url: 'http://some.test/a?b' }))).toBe('from the proxy')
    expect(lines).toEqual([`GET http://some.test/a?b ${authorization}`])
  })
  it('encrypted ones ask for a tunnel, and a refusal is told', async () => {
    await expect(ask({ url: 'https://some.test/a' })).rejects.toMatchObject({
      message:
        'http/request failed: error sending request for url (https://some.test/a): the proxy refused the tunnel with status 403',
    })
    expect(lines).toEqual([`CONNECT some.test:443 ${authorization}`])
  })
  it('hosts that are excluded are reached directly', async () => {
    environment.NO_PROXY = '127.0.0.1'
    expect(bodyOf(await ask({ url: '/ok' }))).toBe('ok')
    expect(lines).toEqual([])
  })
  it('what an encrypted request says is for its host alone', async () => {
    const secure = createSecureServer(SELF_SIGNED, (_request, response) => response.end('behind the tunnel'))
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    const { port } = secure.address() as AddressInfo
    proxy.removeAllListeners('connect')
    proxy.on('connect', (request, socket) => {
      lines.push(`CONNECT ${request.url}`)
      const far = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
      socket.pipe(far).pipe(socket)
      far.on('error', () => socket.destroy())
      socket.on('error', () => far.destroy())
    })
    const url = `https://localhost:${port}/private?path`
    await expect(ask({ url })).rejects.toThrow(/the certificate is self-signed/)
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    expect(bodyOf(await ask({ url }))).toBe('behind the tunnel')
    vi.unstubAllEnvs()
    expect(lines).toEqual([`CONNECT localhost:${port}`, `CONNECT localhost:${port}`])
    secure.closeAllConnections()
    secure.close()
  })
  it('a proxy of another kind is refused by name', async () => {
    environment.HTTP_PROXY = 'ftp://127.0.0.1:1'
    await expect(ask({ url: 'http://some.test/' })).rejects.toThrow(
      /the environment names a ftp proxy; http, https, socks4/,
    )
  })
})
