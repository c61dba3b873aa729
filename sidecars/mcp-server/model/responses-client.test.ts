import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from '../../testing/fast-check.ts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DecodeError } from '../../protocol/decode.ts'
import { EventStreamReader } from './event-stream.ts'
import { delayInText, ModelFailure } from './model-failure.ts'
import { resolveProvider, type ModelProvider } from './provider.ts'
import { SystemSecrets } from './provider-secrets.ts'
import { backOffMs, ResponsesClient, type ResponseEvent } from './responses-client.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void
let server: Server
let answers: Answer[]
let bodies: string[]
let client: ResponsesClient
let provider: ModelProvider

beforeEach(async () => {
  answers = []
  bodies = []
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (d: Buffer) => (body += d.toString()))
    request.on('end', () => {
      bodies.push(body)
      answers.shift()!(request, response, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  provider = resolveProvider('fake', { fake: { base_url, request_max_retries: 2, stream_idle_timeout_ms: 300 } })
  client = new ResponsesClient(new SystemSecrets(() => undefined))
})
afterEach(() => {
  client.close()
  server.closeAllConnections()
  server.close()
})

const sse = (...events: object[]): string => events.map((e) => `event: x\ndata: ${JSON.stringify(e)}\n\n`).join('')
const completed = { type: 'response.completed', response: { id: 'r1' } }
const stream = async (signal = new AbortController().signal): Promise<ResponseEvent[]> => {
  const seen: ResponseEvent[] = []
  for await (const events of client.stream(provider, '{"model":"m"}', { signal, headers: {} })) seen.push(...events)
  return seen
}
const failure = async (): Promise<ModelFailure> => {
  const error = await stream().then(
    () => null,
    (e: unknown) => e,
  )
  expect(error).toBeInstanceOf(ModelFailure)
  return error as ModelFailure
}

describe('a response stream', () => {
  it('yields events until response.completed and keeps the connection', async () => {
    const sockets = new Set<unknown>()
    const ok: Answer = (request, response) => {
      sockets.add(request.socket)
      response.end(
        sse({ type: 'response.created' }, { type: 'response.output_text.delta', delta: 'hé\u2028' }, completed),
      )
    }
    answers = [ok, ok]
    const types = (await stream()).map((e) => e.type)
    await vi.waitFor(() => expect(client.idleConnections).toBe(1), 20_000)
    await stream()
    expect([types, sockets.size, bodies]).toEqual([
      ['response.created', 'response.output_text.delta', 'response.completed'],
      1,
      ['{"model":"m"}', '{"model":"m"}'],
    ])
  })

  it('repeats 5xx and refused connections silently', async () => {
    answers = [(_, r) => r.writeHead(500).end('oops'), (q) => q.socket.destroy(), (_, r) => r.end(sse(completed))]
    expect((await stream()).length).toBe(1)
  })

  it('gives up after request_max_retries with the cause', async () => {
    answers = Array.from({ length: 3 }, () => (_: IncomingMessage, r: ServerResponse) => r.writeHead(500).end('oops'))
    expect(await failure()).toMatchObject({ kind: 'internalServerError', message: 'unexpected status 500: oops' })
    expect(bodies.length).toBe(3)
  })

  it.each([
    ['400 fails at once with the body', 400, 'no such tool', 'badRequest', false],
    ['401 is left to the caller to repeat', 401, '', { httpConnectionFailed: { httpStatusCode: 401 } }, true],
    [
      '429 usage limit fails at once',
      429,
      '{"error":{"type":"usage_limit_reached","resets_in_seconds":120}}',
      'usageLimitExceeded',
      false,
    ],
    [
      '429 is left to the caller to repeat',
      429,
      'slow',
      { responseTooManyFailedAttempts: { httpStatusCode: 429 } },
      true,
    ],
  ])('%s', async (_, status, text, kind, retryable) => {
    answers = [(_q, r) => r.writeHead(status).end(text)]
    expect(await failure()).toMatchObject({ kind, retryable })
    expect(bodies.length).toBe(1)
  })

  it('calls a stream that ends early, breaks or falls silent disconnected, after its events', async () => {
    const broken: Answer[] = [
      (_, r) => r.end(sse({ type: 'response.created' })),
      (q, r) => {
        r.write(sse({ type: 'response.created' }))
        setImmediate(() => q.socket.destroy())
      },
      (_, r) => void r.write(sse({ type: 'response.created' })),
    ]
    for (const answer of broken) {
      answers = [answer]
      expect(await failure()).toMatchObject({
        kind: { responseStreamDisconnected: { httpStatusCode: null } },
        retryable: true,
      })
    }
  })

  it.each([
    ['context_length_exceeded', 'contextWindowExceeded', false],
    ['insufficient_quota', 'usageLimitExceeded', false],
    ['rate_limit_exceeded', { responseStreamDisconnected: { httpStatusCode: null } }, true],
  ])('maps response.failed %s', async (code, kind, retryable) => {
    answers = [
      (_, r) =>
        r.end(sse({ type: 'response.failed', response: { error: { code, message: 'Please try again in 1.5s.' } } })),
    ]
    expect(await failure()).toMatchObject({ kind, retryable, retryAfterMs: retryable ? 1500 : null })
  })

  it('an abort closes the connection at once', async () => {
    const controller = new AbortController()
    const closed = new Promise<void>((resolve) => {
      answers = [
        (q, r) => {
          q.socket.on('close', () => resolve())
          r.write(sse({ type: 'response.created' }))
        },
      ]
    })
    const reading = (async () => {
      for await (const _ of client.stream(provider, '{}', { signal: controller.signal, headers: {} }))
        controller.abort(new Error('stop'))
    })()
    await expect(reading).rejects.toThrow('stop')
    await closed
  })

  it('asks for the key that is missing', async () => {
    provider = { ...provider, env_key: 'MY_KEY' }
    expect(await failure()).toMatchObject({
      kind: 'unauthorized',
      message: expect.stringContaining('MY_KEY') as string,
    })
    expect(bodies).toEqual([])
  })
})

describe('providers', () => {
  it('knows the local ones and refuses what cannot work, naming the key', () => {
    expect(resolveProvider('ollama', {}).base_url).toBe('http://127.0.0.1:11434/v1')
    expect(() => resolveProvider('nope', {})).toThrow(/unknown provider "nope"/)
    for (const [keys, path] of [
      [{ base_url: 'ftp://x' }, 'model_providers.p.base_url'],
      [{}, 'model_providers.p.base_url'],
      [{ base_url: 'http://x', wire_api: 'chat' }, 'model_providers.p.wire_api'],
      [{ base_url: 'http://x', stream_max_retries: 'many' }, 'model_providers.p.stream_max_retries'],
    ] as const)
      try {
        resolveProvider('p', { p: keys })
        expect.unreachable()
      } catch (error) {
        expect((error as DecodeError).path).toBe(path)
      }
  })
})

it('reads an event stream however it is cut', () => {
  const text =
    ': hello\r\nevent: a\r\ndata: {"x":"é\u2028"}\r\n\r\ndata: one\ndata:two\n\nid: 3\rdata: z\r\rdata: dropped'
  const whole = Buffer.from(text)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (sizes) => {
      const reader = new EventStreamReader()
      const seen: string[] = []
      for (let at = 0, i = 0; at < whole.length; i++) {
        const size = sizes[i % sizes.length]!
        reader.push(whole.subarray(at, at + size), (d) => seen.push(d))
        at += size
      }
      expect(seen).toEqual(['{"x":"é\u2028"}', 'one\ntwo', 'z'])
    }),
  )
})

it('backs off by doubling with jitter; a delay from the server wins', () => {
  expect([1, 2, 3].map((n) => backOffMs(n, null, () => 0.5))).toEqual([200, 400, 800])
  expect(backOffMs(3, 50)).toBe(50)
  expect(['try again in 1.5s', 'Please try again in 20ms', 'later'].map(delayInText)).toEqual([1500, 20, null])
})
