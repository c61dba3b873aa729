/** Placeholders in fields and bodies, and signatures made anew, as an origin behind the proxy sees them. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { LeaseId, SessionId } from '../../protocol/ids.ts'
import { h2Through, rawThrough } from '../test-kit/inspected-client.ts'
import { rules, startProxy, type ProxyFixture } from '../test-kit/proxy-fixture.ts'
import type { RawClient } from '../test-kit/raw-client.ts'
import { h2Origin, httpsOrigin, ORIGIN_ROOTS } from '../test-kit/tls-origins.ts'
import { parseInspection } from './inspection-config.ts'

const SECRET = 'the "real" token & more'
const PLACEHOLDER = 'gh-placeholder-1'
const ENVIRONMENT = { TOKEN: SECRET, KEY_ID: 'AKIAREAL', SECRET_KEY: 'real-secret-key', SESSION: 'real-session' }

interface Seen {
  url: string
  headers: Record<string, string>
  body: string
}

/** Says what arrived. */
const recordingOrigin = () =>
  httpsOrigin((request, response) => {
    void bodyOf(request).then((body) =>
      response.end(JSON.stringify({ url: request.url, headers: request.headers, body })),
    )
  })

async function bodyOf(stream: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of stream) body += String(part)
  return body
}

function start(port: number, action: object): Promise<ProxyFixture> {
  const hook = {
    host: '127.0.0.1',
    methods: ['GET', 'POST', 'PUT'],
    path_prefixes: ['/'],
    action: ['a'],
    ports: [port],
  }
  const mitm = { version: 2, hooks: { all: hook }, actions: { a: action } }
  return startProxy({
    rules: rules('allow 127.0.0.1'),
    platformRoots: ORIGIN_ROOTS,
    settings: { inspection: parseInspection(mitm, undefined, ENVIRONMENT) },
  })
}

function send(client: RawClient, port: number, line: string, fields: string, body = ''): RawClient {
  return client.send(`${line} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${fields}\r\n${body}`)
}

async function seen(client: RawClient): Promise<Seen> {
  const answer = await client.answer()
  expect(answer.status).toBe(200)
  return JSON.parse(answer.body.toString()) as Seen
}

/** Nothing that the window, the journal or a child can see has it. */
async function expectSecretKept(fixture: ProxyFixture, secret = SECRET): Promise<void> {
  expect(JSON.stringify(fixture.facts())).not.toContain(secret)
  const environment = await fixture.proxy.grantLease({ leaseId: 'l' as LeaseId, sessionId: 's' as SessionId })
  expect(JSON.stringify(environment)).not.toContain(secret)
}

describe('a placeholder in a field', () => {
  const token = { name: 'Authorization', secret_env_var: 'TOKEN', placeholder: PLACEHOLDER }

  it('is exchanged, also in Basic credentials; a field without it stays as it is', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, { inject_request_headers: [token] })
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    const authorization = async (value: string) => {
      send(client, origin.port, 'GET /', `Authorization: ${value}\r\n`)
      return (await seen(client)).headers.authorization
    }
    expect(await authorization(`token ${PLACEHOLDER}`)).toBe(`token ${SECRET}`)
    const basic = await authorization(`Basic ${Buffer.from(`x:${PLACEHOLDER}`).toString('base64')}`)
    expect(Buffer.from(basic!.slice(6), 'base64').toString()).toBe(`x:${SECRET}`)
    expect(await authorization('Bearer another')).toBe('Bearer another')
    expect(await authorization('Basic eDp5')).toBe('Basic eDp5')
    await expectSecretKept(fixture)
    expect((await fixture.proxy.grantLease({ leaseId: 'm' as LeaseId, sessionId: 's' as SessionId })).TOKEN).toBe(
      PLACEHOLDER,
    )
  })

  it('with a prefix replaces the whole value, and only when the placeholder is there', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, { inject_request_headers: [{ ...token, prefix: 'Bearer ' }] })
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'GET /', `Authorization: token ${PLACEHOLDER}\r\n`)
    expect((await seen(client)).headers.authorization).toBe(`Bearer ${SECRET}`)
    send(client, origin.port, 'GET /', '')
    expect((await seen(client)).headers.authorization).toBeUndefined()
  })
})

describe('placeholders in a body', () => {
  const substitution = (port: number, more: object = {}) => ({
    body_secret_substitution: { replacements: [{ placeholder: PLACEHOLDER, secret_env_var: 'TOKEN' }], port, ...more },
  })

  it('are written as the type of the body needs it', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, substitution(origin.port))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    for (const [type, body, expected] of [
      ['application/json', `{"t":"${PLACEHOLDER}"}`, JSON.stringify({ t: SECRET })],
      ['application/vnd.api+json; charset=utf-8', `{"t":"${PLACEHOLDER}"}`, JSON.stringify({ t: SECRET })],
      [
        'application/x-www-form-urlencoded',
        `a=1&t=${PLACEHOLDER}&u=${PLACEHOLDER}`,
        `a=1&t=${encodeURIComponent(SECRET)}&u=${encodeURIComponent(SECRET)}`,
      ],
      ['text/plain', `x${PLACEHOLDER}y`, `x${SECRET}y`],
      ['text/plain', 'nothing to see', 'nothing to see'],
    ] as const) {
      const length = `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\nContent-MD5: x\r\n`
      send(client, origin.port, 'POST /one', length, body)
      const first = await seen(client)
      expect(first).toMatchObject({ body: expected, headers: { 'content-length': String(expected.length) } })
      expect('content-md5' in first.headers).toBe(body === expected)
      // Chunked, cut inside the placeholder, and the next request right behind it.
      const at = body.length - 8
      const chunks = [body.slice(0, at), body.slice(at)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
      send(client, origin.port, 'POST /two', `Content-Type: ${type}\r\nTransfer-Encoding: chunked\r\n`, chunks[0])
      client.send(`${chunks[1]}0\r\n\r\nGET /three HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\n\r\n`)
      expect(await seen(client)).toMatchObject({ url: '/two', body: expected })
      expect(await seen(client)).toMatchObject({ url: '/three', body: '' })
    }
    await expectSecretKept(fixture)
  })

  it('over HTTP/2 as well, on both sides', async () => {
    const { server, port } = await h2Origin()
    server.on('stream', (stream, headers) => {
      let body = ''
      stream.on('data', (part: Buffer) => (body += part.toString()))
      stream.on('end', () => stream.end(JSON.stringify({ length: headers['content-length'], body })))
    })
    const fixture = await start(port, substitution(port))
    const session = await h2Through(fixture, `127.0.0.1:${port}`)
    const stream = session.request({ ':path': '/', ':method': 'POST', 'content-type': 'application/json' })
    stream.write(`{"t":"${PLACEHOLDER.slice(0, 4)}`)
    stream.end(`${PLACEHOLDER.slice(4)}"}`)
    let answer = ''
    for await (const part of stream) answer += String(part)
    const body = JSON.stringify({ t: SECRET })
    expect(JSON.parse(answer)).toEqual({ length: String(body.length), body })
    await expectSecretKept(fixture)
  })

  it('a client that waits for 100 Continue is told to send', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, substitution(origin.port))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'POST /', `Expect: 100-continue\r\nContent-Length: ${PLACEHOLDER.length}\r\n`)
    expect((await client.answer()).status).toBe(100)
    client.send(PLACEHOLDER)
    expect((await seen(client)).body).toBe(SECRET)
  })

  it.each([
    ['larger than the limit, said at once', 'Content-Length: 101\r\n', '', 413, 'larger than 100 bytes'],
    [
      'larger than the limit, found out',
      'Transfer-Encoding: chunked\r\n',
      `65\r\n${'x'.repeat(101)}\r\n`,
      413,
      'larger',
    ],
    ['compressed', 'Content-Encoding: gzip\r\nContent-Length: 1\r\n', 'x', 415, 'compressed (gzip)'],
  ])('a body that is %s is refused, and nothing arrives', async (_what, fields, body, status, words) => {
    let reached = 0
    const origin = await httpsOrigin(() => reached++)
    const fixture = await start(origin.port, substitution(origin.port, { max_body_bytes: 100 }))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'POST /', fields, body)
    const answer = await client.answer()
    expect(answer.status).toBe(status)
    expect(answer.body.toString()).toContain(words)
    expect(reached).toBe(0)
  })

  it('over HTTP/2, a body that is too large is refused', async () => {
    const { port } = await h2Origin()
    const fixture = await start(port, substitution(port, { max_body_bytes: 100 }))
    const session = await h2Through(fixture, `127.0.0.1:${port}`)
    const stream = session.request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    stream.write('x'.repeat(101))
    const [headers] = (await new Promise<unknown[]>((resolve) =>
      stream.once('response', (...all) => resolve(all)),
    )) as [Record<string, number>]
    expect(headers[':status']).toBe(413)
  })

  it('stay as they are on another port than the one that is named', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, substitution(1))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'POST /', `Content-Length: ${PLACEHOLDER.length}\r\n`, PLACEHOLDER)
    expect((await seen(client)).body).toBe(PLACEHOLDER)
  })

  it('a deny rule that comes while the body is still coming is obeyed', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, substitution(origin.port))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'POST /', 'Expect: 100-continue\r\nContent-Length: 4\r\n')
    await client.answer()
    fixture.proxy.setRules(2, rules('deny 127.0.0.1'))
    client.send('body')
    expect((await client.answer()).status).toBe(403)
  })
})

describe('a request that was signed with a placeholder of AWS', () => {
  const signing = (port: number, more: object = {}) => ({
    aws_sigv4: {
      placeholder_access_key_id: 'AKIAPLACEHOLDER',
      region: 'eu-central-1',
      service: 'sqs',
      access_key_id: { secret_env_var: 'KEY_ID' },
      secret_access_key: { secret_env_var: 'SECRET_KEY' },
      session_token: { secret_env_var: 'SESSION' },
      port,
      ...more,
    },
  })
  const signed = (scope = '20261201/eu-central-1/sqs', key = 'AKIAPLACEHOLDER') =>
    `X-Amz-Date: 20261201T010203Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=${key}/${scope}/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}\r\n`

  const CHUNK_WISE = 'X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n'

  it('is signed anew with the real credentials over the body, which the child never has', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, signing(origin.port))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'POST /queue', `${signed()}Content-Length: 4\r\n`, 'body')
    const { headers, body } = await seen(client)
    expect(body).toBe('body')
    expect(headers['x-amz-security-token']).toBe('real-session')
    const signature = (header: string) => /Signature=(\w{64})$/.exec(header)?.[1]
    expect(headers.authorization).toMatch(
      /Credential=AKIAREAL\/20261201\/eu-central-1\/sqs\/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, /,
    )
    send(client, origin.port, 'POST /queue', `${signed()}Content-Length: 4\r\n`, 'ydob')
    expect(signature((await seen(client)).headers.authorization!)).not.toBe(signature(headers.authorization!))
    for (const secret of ['AKIAREAL', 'real-secret-key', 'real-session']) await expectSecretKept(fixture, secret)
    const environment = await fixture.proxy.grantLease({ leaseId: 'm' as LeaseId, sessionId: 's' as SessionId })
    expect(environment).toMatchObject({ KEY_ID: 'AKIAPLACEHOLDER', SESSION: '' })
    expect(environment.SECRET_KEY).not.toBe('')
  })

  it('chunk by chunk has each chunk signed anew, within the limit for bodies', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, signing(origin.port, { max_body_bytes: 200 }))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    const line = (size: number) => `${size.toString(16)};chunk-signature=${'0'.repeat(64)}\r\n`
    const body = `${line(5)}hello\r\n${line(0)}\r\n`
    send(client, origin.port, 'PUT /', `${signed()}${CHUNK_WISE}Content-Length: ${body.length}\r\n`, body)
    const arrived = await seen(client)
    expect(arrived.body).toMatch(/^5;chunk-signature=[0-9a-f]{64}\r\nhello\r\n0;chunk-signature=[0-9a-f]{64}\r\n\r\n$/)
    expect(arrived.body).not.toContain('0'.repeat(64))
    expect(arrived.headers['content-length']).toBe(String(body.length))
    send(client, origin.port, 'PUT /', `${signed()}${CHUNK_WISE}Content-Length: 201\r\n`)
    expect((await client.answer()).status).toBe(413)
  })

  it('with the hash of its body is streamed', async () => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, signing(origin.port, { max_body_bytes: 1 }))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    const hash = createHash('sha256').update('large').digest('hex')
    send(client, origin.port, 'PUT /', `${signed()}X-Amz-Content-Sha256: ${hash}\r\nContent-Length: 5\r\n`, 'large')
    expect(await seen(client)).toMatchObject({ body: 'large', headers: { 'x-amz-content-sha256': hash } })
  })

  it.each([
    ['for another region', signed('20261201/us-east-1/sqs'), 403, 'sqs in eu-central-1'],
    ['for another service', signed('20261201/eu-central-1/s3'), 403, 's3 in eu-central-1'],
    ['that cannot be read', signed('20261201'), 400, 'credential scope'],
    ['chunk by chunk without chunks', signed() + CHUNK_WISE, 400, 'signed chunk by chunk'],
  ])('%s is refused with the reason', async (_what, fields, status, words) => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, signing(origin.port))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'GET /', fields)
    const answer = await client.answer()
    expect(answer.status).toBe(status)
    expect(answer.body.toString()).toContain(words)
  })

  it.each([
    ['with another key', signed(undefined, 'AKIAOFTHECLIENT')],
    ['not at all', 'X-Other: 1\r\n'],
  ])('a request that is signed %s passes as it is', async (_what, fields) => {
    const origin = await recordingOrigin()
    const fixture = await start(origin.port, signing(origin.port))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    send(client, origin.port, 'GET /', fields)
    const { headers } = await seen(client)
    expect(headers['x-amz-security-token']).toBeUndefined()
    expect(headers.authorization ?? '').not.toContain('AKIAREAL')
  })
})
