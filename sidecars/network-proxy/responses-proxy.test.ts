import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { responsesProxy } from './responses-proxy.ts'
import { eventually } from './test-kit/owner.ts'
import { RawClient } from './test-kit/raw-client.ts'

interface Seen {
  url: string | undefined
  raw: string[]
  body: string
}

/** An upstream that records requests and answers through `answer`. */
async function upstream(answer: (request: IncomingMessage, response: import('node:http').ServerResponse) => void) {
  const seen: Seen[] = []
  const server = createServer((incoming, response) => {
    let body = ''
    incoming.on('data', (piece) => (body += piece))
    incoming.on('end', () => {
      seen.push({ url: incoming.url, raw: incoming.rawHeaders, body })
      answer(incoming, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as { port: number }).port}/base/responses?v=1` }
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-responses-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

/** Starts the command with `key` on its stdin; the test owns it and ends it over HTTP. */
async function start(
  upstreamUrl: string,
  ...more: string[]
): Promise<{ port: number; info: string; exit: Promise<number> }> {
  const info = join(folder(), 'deep', 'info.json')
  const key = Buffer.from('sk-key_1\n')
  const exit = responsesProxy(
    ['--server-info', info, '--http-shutdown', '--upstream-url', upstreamUrl, ...more],
    (buffer, offset, length) => key.copy(buffer, offset, 0, length),
  )
  let text = ''
  await eventually(() => {
    try {
      text = readFileSync(info, 'utf8')
      return true
    } catch {
      return false
    }
  })
  const { port, pid } = JSON.parse(text) as { port: number; pid: number }
  expect([text.endsWith('}\n'), pid, statSync(info).mode & 0o777]).toEqual([true, process.pid, 0o600])
  onTestFinished(async () => {
    await (await RawClient.open(port).catch(() => undefined))?.send('GET /shutdown HTTP/1.1\r\nHost: x\r\n\r\n').end()
    await exit
  })
  return { port, info, exit }
}

function post(
  port: number,
  path: string,
  method = 'POST',
  headers: string[] = [],
): Promise<{ status: number; headers: IncomingMessage['headers']; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { port, host: '127.0.0.1', path, method, headers: ['host', 'x', ...headers] },
      (response) => {
        let body = ''
        response.on('data', (piece) => (body += piece))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
      },
    )
    outgoing.on('error', reject)
    outgoing.end('{"input":"hi"}')
  })
}

describe('responses proxy', () => {
  it('forwards the one route with the key instead of the client’s credentials', async () => {
    const { seen, url } = await upstream((_request, response) => {
      response.writeHead(201, ['X-A', '1', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Connection', 'close']).end('ok')
    })
    const { port } = await start(url)
    const answer = await post(port, '/v1/responses', 'POST', [
      'Authorization',
      'Bearer client',
      'X-Two',
      '1',
      'X-Two',
      '2',
      'Cookie',
      'c=1',
    ])
    expect([answer.status, answer.body, answer.headers['set-cookie']]).toEqual([201, 'ok', ['a=1', 'b=2']])
    expect(seen).toEqual([
      {
        url: '/base/responses?v=1',
        raw: [
          'host',
          new URL(url).host,
          'authorization',
          'Bearer sk-key_1',
          'x-two',
          '1',
          'x-two',
          '2',
          'cookie',
          'c=1',
          'content-length',
          '14',
          'Connection',
          expect.any(String),
        ],
        body: '{"input":"hi"}',
      },
    ])
  })

  it.each([
    ['GET', '/v1/responses'],
    ['POST', '/v1/responses?x=1'],
    ['POST', '/v1/responses/'],
    ['POST', '/v1/chat'],
    ['POST', '/shutdown'],
    ['GET', '/shutdown?x'],
  ])('refuses %s %s with nothing in it', async (method, path) => {
    const { seen, url } = await upstream((_request, response) => response.end())
    const { port } = await start(url)
    expect(await post(port, path, method)).toMatchObject({ status: 403, body: '' })
    expect(seen).toEqual([])
  })

  it('streams: an event arrives before the next one is made', async () => {
    let next = () => {}
    const { url } = await upstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      next = () => response.end('data: 2\n\n')
    })
    const { port } = await start(url)
    const client = await RawClient.open(port)
    client.send('POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}')
    await client.until(() => (client.received.includes('data: 1') ? true : undefined))
    expect(client.received.includes('data: 2')).toBe(false)
    next()
    await client.until(() => (client.received.includes('data: 2') ? true : undefined))
  })

  it('an upstream that cannot be reached is 502', async () => {
    const { port } = await start('http://127.0.0.1:9/')
    expect((await post(port, '/v1/responses')).status).toBe(502)
  })

  it('dumps both sides without credentials, for nobody else to read', async () => {
    const { url } = await upstream((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain', 'Set-Cookie': 'secret=1' }).end('plain text'),
    )
    const dumps = join(folder(), 'dumps')
    const { port } = await start(url, '--dump-dir', dumps)
    await post(port, '/v1/responses', 'POST', [
      'Authorization',
      'Bearer client',
      'X-Api-Key',
      'hidden',
      'X-Shown',
      'yes',
    ])
    await eventually(() => readdirSync(dumps).length === 2)
    const [requestName, responseName] = readdirSync(dumps).sort()
    expect([requestName, responseName]).toEqual([
      expect.stringMatching(/^000001-\d+-request\.json$/),
      expect.stringMatching(/^000001-\d+-response\.json$/),
    ])
    const text = readFileSync(join(dumps, requestName!), 'utf8') + readFileSync(join(dumps, responseName!), 'utf8')
    expect(text).not.toMatch(/client|hidden|sk-key|secret=1/)
    expect(JSON.parse(readFileSync(join(dumps, requestName!), 'utf8'))).toMatchObject({
      method: 'POST',
      url: '/v1/responses',
      body: { input: 'hi' },
    })
    expect(JSON.parse(readFileSync(join(dumps, responseName!), 'utf8'))).toMatchObject({
      status: 200,
      body: 'plain text',
    })
    expect([statSync(dumps).mode & 0o777, statSync(join(dumps, requestName!)).mode & 0o777]).toEqual([0o700, 0o600])
  })

  it('GET /shutdown ends it with exit code 0', async () => {
    const { url } = await upstream((_request, response) => response.end())
    const { port, exit } = await start(url)
    expect((await post(port, '/shutdown', 'GET')).status).toBe(200)
    expect(await exit).toBe(0)
  })

  it.each([[['--port', '99999']], [['--upstream-url', 'nonsense']], [['--upstream-url', 'ftp://x/']], [['--unknown']]])(
    '%j is refused with exit code 2',
    async (argv) => {
      expect(await responsesProxy(argv, () => 0)).toBe(2)
    },
  )
})
