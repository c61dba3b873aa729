import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { RawClient } from '../test-kit/raw-client.ts'
import { judgeUnixSocket } from './unix-socket.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-unix-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  writeFileSync(join(path, 'real.sock'), '')
  symlinkSync(join(path, 'real.sock'), join(path, 'link.sock'))
  return path
}

describe('which unix sockets may be reached (macOS)', () => {
  it('listed paths, as written, normalised or through a symlink', async () => {
    const path = folder()
    const reason = async (asked: string, listed: Record<string, 'allow' | 'deny'>, allowAll = false) =>
      (await judgeUnixSocket(asked, { allowAll, paths: listed }, 'darwin'))?.reason ?? 'allow'
    const real = join(path, 'real.sock')
    const link = join(path, 'link.sock')
    expect(await reason(real, { [real]: 'allow' })).toBe('allow')
    expect(await reason(`${path}/./x/../real.sock`, { [real]: 'allow' })).toBe('allow')
    expect(await reason(link, { [real]: 'allow' })).toBe('allow')
    expect(await reason(real, { [link]: 'allow' })).toBe('allow')
    expect(await reason('/other.sock', { [real]: 'allow' })).toBe('not_allowed')
    expect(await reason('relative.sock', {}, true)).toBe('not_allowed')
    expect(await reason('/any.sock', {}, true)).toBe('allow')
    expect(await reason(link, { [real]: 'deny' }, true)).toBe('denied')
  })

  it('none on other platforms', async () => {
    expect(await judgeUnixSocket('/a.sock', { allowAll: true, paths: {} }, 'linux')).toMatchObject({
      reason: 'unix_socket_unsupported',
    })
  })
})

describe('the header x-unix-socket on macOS', () => {
  /** A server on a unix socket, and a proxy that believes to be on macOS. */
  async function start(verdict: 'allow' | 'deny') {
    const path = join(folder(), 'api.sock')
    const seen: string[] = []
    const server = createServer((socket) =>
      socket.on('data', (bytes: Buffer) => {
        seen.push(bytes.toString())
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nunix')
      }),
    )
    await new Promise<void>((resolve) => server.listen(path, resolve))
    onTestFinished(() => void server.close())
    const fixture = await startProxy({
      platform: 'darwin',
      settings: { unixSockets: { allowAll: false, paths: { [path]: verdict } } },
    })
    const request = `GET http://localhost/v1 HTTP/1.1\r\nHost: localhost\r\nX-Unix-Socket: ${path}\r\nConnection: x-hop\r\nx-hop: 1\r\n\r\n`
    return { ...fixture, path, seen, request }
  }

  it('leads an allowed request there in origin form, without the header', async () => {
    const { httpPort, seen, request, factsWhere } = await start('allow')
    const client = await RawClient.open(httpPort)
    expect((await client.send(request).answer()).body.toString()).toBe('unix')
    expect(seen).toEqual(['GET /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n'])
    await factsWhere((facts) => facts.host === 'unix-socket' && facts.state === 'allowed')
  })

  it('is refused for a path that is denied or not listed, and failed for one that is not there', async () => {
    const { httpPort, seen, request, path } = await start('deny')
    const answer = async (text: string) => (await (await RawClient.open(httpPort)).send(text).answer()).status
    expect(await answer(request)).toBe(403)
    expect(await answer(request.replace(path, '/elsewhere.sock'))).toBe(403)
    expect(seen).toEqual([])
    const { httpPort: open } = await startProxy({
      platform: 'darwin',
      settings: { unixSockets: { allowAll: true, paths: {} } },
    })
    const gone = await (await RawClient.open(open)).send(request.replace(path, '/nowhere.sock')).answer()
    expect([gone.status, gone.body.toString()]).toEqual([502, expect.stringContaining('/nowhere.sock')])
  })
})

describe.skipIf(process.platform === 'darwin')('the header x-unix-socket where it is not supported', () => {
  it('is answered 501 and recorded', async () => {
    const { httpPort, factsWhere } = await startProxy({ rules: rules('allow localhost') })
    const client = await RawClient.open(httpPort)
    client.send('GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nx-unix-socket: /run/x.sock\r\n\r\n')
    expect(await client.answer()).toMatchObject({ status: 501 })
    expect(await factsWhere((facts) => facts.host === 'unix-socket')).toMatchObject({ state: 'blocked', port: 0 })
  })

  it('is 400 when it is not ASCII or there twice, and 403 when the mode forbids the method', async () => {
    const { httpPort } = await startProxy({ settings: { mode: 'limited' } })
    const send = async (line: string, fields: string) =>
      (await (await RawClient.open(httpPort)).send(`${line} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n\r\n`).answer())
        .status
    expect(await send('GET http://localhost/', 'x-unix-socket: /\u00e9')).toBe(400)
    expect(await send('GET http://localhost/', 'x-unix-socket: /a\r\nx-unix-socket: /b')).toBe(400)
    expect(await send('POST http://localhost/', 'x-unix-socket: /a')).toBe(403)
  })
})
