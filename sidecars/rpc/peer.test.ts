import { afterEach, describe, expect, test } from 'vitest'
import { integer, object, string, unknown } from '../protocol/decode.ts'
import { LINKS, type Link, type LinkedTransports } from './linked-transports.ts'
import { RpcPeer, type RpcPeerOptions, type RpcProblem } from './peer.ts'
import { RpcError } from './rpc-error.ts'

const failure = (promise: Promise<unknown>): Promise<RpcError> =>
  promise.then(
    (value) => Promise.reject(new Error(`expected a failure, got ${JSON.stringify(value)}`)),
    (error: RpcError) => error,
  )

/** Waits for a state, not for a time. */
async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 1))
}

describe.each(Object.entries(LINKS))('two peers over %s', (_name, link: Link) => {
  let linked: LinkedTransports | undefined
  afterEach(async () => {
    await linked?.dispose()
    linked = undefined
  })

  async function peers(options: RpcPeerOptions = {}, limits = {}) {
    linked = await link(limits)
    const problems: RpcProblem[] = []
    const a = new RpcPeer(linked.a, { onProblem: (problem) => problems.push(problem) })
    const b = new RpcPeer(linked.b, { onProblem: (problem) => problems.push(problem), ...options })
    return { a, b, problems, link: linked }
  }

  test('requests go both ways at once and get their own answers', async () => {
    const { a, b } = await peers()
    a.onRequest('double', integer(), (n) => n * 2)
    b.onRequest('negate', integer(), async (n) => -n)
    a.start()
    b.start()
    const answers = await Promise.all([
      ...[1, 2, 3].map((n) => a.request('negate', n, integer())),
      ...[1, 2, 3].map((n) => b.request('double', n, integer())),
    ])
    expect(answers).toEqual([-1, -2, -3, 2, 4, 6])
  })

  test('a handler may ask back before it answers', async () => {
    const { a, b } = await peers()
    a.onRequest('name', unknown, () => 'owner')
    b.onRequest('greet', unknown, async (_params, { peer }) => `hello ${await peer.request('name', {}, string)}`)
    a.start()
    b.start()
    expect(await a.request('greet', {}, string)).toBe('hello owner')
  })

  test('messages are handled in the order they were sent, requests and notifications alike', async () => {
    const { a, b } = await peers()
    const seen: string[] = []
    b.onRequest('ask', string, (text) => void seen.push(text))
    b.onNotification('tell', string, (text) => void seen.push(text))
    a.start()
    b.start()
    a.notify('tell', '1')
    const asked = a.request('ask', '2', unknown)
    a.notify('tell', '3')
    await asked
    await a.request('ask', '4', unknown)
    expect(seen).toEqual(['1', '2', '3', '4'])
  })

  test('E07 M11 text arrives unchanged: U+2028, NUL, lone surrogates and a megabyte', async () => {
    const { a, b } = await peers()
    b.onRequest('echo', string, (text) => text)
    a.start()
    b.start()
    for (const text of ['a\u2028b\u2029c\u0085d', 'x\u0000\r\ny', '\ud800 alone', 'ö'.repeat(1_000_000)])
      expect(await a.request('echo', text, string)).toBe(text)
  })

  test('an unknown method, bad params and a failing handler are three different errors', async () => {
    const { a, b, problems } = await peers()
    b.onRequest('sum', object({ left: integer(), right: integer() }), ({ left, right }) => left + right)
    b.onRequest('fail', unknown, () => {
      throw new Error('broken inside')
    })
    b.onRequest('refuse', unknown, () => {
      throw new RpcError('denied', 'the owner said no', { reason: 'not now' })
    })
    a.start()
    b.start()
    expect(await failure(a.request('nothing', {}, unknown))).toMatchObject({ code: 'methodNotFound', wireCode: -32601 })
    expect(await failure(a.request('sum', { left: 1, right: 'x' }, unknown))).toMatchObject({
      code: 'invalidParams',
      message: 'params.right: expected a whole number, got a string',
      data: { field: 'params.right' },
    })
    expect(await failure(a.request('fail', {}, unknown))).toMatchObject({ code: 'internal', message: 'broken inside' })
    expect(await failure(a.request('refuse', {}, unknown))).toMatchObject({
      code: 'denied',
      data: { reason: 'not now' },
    })
    expect(problems).toMatchObject([{ kind: 'handler' }])
  })

  test('an answer of the wrong shape names the method it answers', async () => {
    const { a, b } = await peers()
    b.onRequest('count', unknown, () => 'three')
    a.start()
    b.start()
    await expect(a.request('count', {}, integer())).rejects.toThrow('count result: expected a whole number')
  })

  test('cancelling fails the caller at once and fires the signal of the handler', async () => {
    const { a, b, problems } = await peers()
    let wasAborted = false
    b.onRequest(
      'wait',
      unknown,
      (_params, { signal }) =>
        new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            wasAborted = true
            resolve()
          }),
        ),
    )
    b.onRequest('echo', string, (text) => text)
    a.start()
    b.start()
    const abort = new AbortController()
    const waiting = failure(a.request('wait', {}, unknown, { signal: abort.signal }))
    await a.request('echo', 'running', string)
    abort.abort()
    expect(await waiting).toMatchObject({ code: 'cancelled', message: 'wait was cancelled' })
    await until(() => wasAborted)
    // The late answer to the cancelled request is expected, not a problem.
    await a.request('echo', 'after', string)
    expect(problems).toEqual([])
  })

  test('a signal that fired before sends nothing', async () => {
    const { a, b } = await peers()
    let calls = 0
    b.onRequest('count', unknown, () => ++calls)
    a.start()
    b.start()
    expect(await failure(a.request('count', {}, unknown, { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'cancelled',
    })
    expect(await a.request('count', {}, integer())).toBe(1)
  })

  test('a request without an answer times out and the other side is told to stop', async () => {
    const { a, b } = await peers()
    let wasAborted = false
    b.onRequest(
      'hang',
      unknown,
      (_params, { signal }) => new Promise<void>(() => signal.addEventListener('abort', () => (wasAborted = true))),
    )
    a.start()
    b.start()
    expect(await failure(a.request('hang', {}, unknown, { timeoutMs: 20 }))).toMatchObject({
      code: 'timedOut',
      message: 'hang got no answer within 20 ms',
    })
    await until(() => wasAborted)
  })

  test.each(['closed', 'cut'] as const)(
    'when the link is %s everything in flight fails with disconnected',
    async (how) => {
      const { a, b, link } = await peers()
      const aborted: string[] = []
      b.onRequest(
        'hang',
        string,
        (name, { signal }) => new Promise<void>(() => signal.addEventListener('abort', () => aborted.push(name))),
      )
      b.onRequest('echo', string, (text) => text)
      a.start()
      b.start()
      const waiting = ['one', 'two'].map((name) => failure(a.request('hang', name, unknown)))
      await a.request('echo', 'running', string)
      if (how === 'closed') b.close()
      else link.cut()
      for (const error of await Promise.all(waiting)) expect(error.code).toBe('disconnected')
      await Promise.all([a.closed, b.closed])
      expect(aborted).toEqual(['one', 'two'])
      expect(await failure(a.request('echo', 'late', string))).toMatchObject({ code: 'disconnected' })
      expect(a.notify('late')).toBe(true)
    },
  )

  test('the last answer before a close arrives', async () => {
    const { a, b } = await peers()
    b.onRequest('goodbye', unknown, (_params, { peer }) => {
      setImmediate(() => peer.close('done'))
      return 'bye'
    })
    a.start()
    b.start()
    expect(await a.request('goodbye', {}, string)).toBe('bye')
    expect(await a.closed).toMatchObject({ code: 'remote' })
    expect(await b.closed).toEqual({ code: 'local', message: 'done' })
  })

  test('more requests at once than allowed are answered overloaded, the others go on', async () => {
    const { a, b } = await peers({ maxConcurrentRequests: 2 })
    let finish = () => {}
    const gate = new Promise<void>((resolve) => (finish = resolve))
    b.onRequest('wait', unknown, () => gate)
    a.start()
    b.start()
    const first = [a.request('wait', {}, unknown), a.request('wait', {}, unknown)]
    expect(await failure(a.request('wait', {}, unknown))).toMatchObject({ code: 'overloaded' })
    finish()
    await Promise.all(first)
    await a.request('wait', {}, unknown)
  })

  test('a flood is held back: notify says so, drained waits, and nothing is lost or reordered', async () => {
    const { a, b } = await peers({}, { highWaterBytes: 64 * 1024, lowWaterBytes: 16 * 1024 })
    const seen: number[] = []
    b.onNotification('tick', object({ n: integer() }), ({ n }) => void seen.push(n))
    a.start()
    b.start()
    const padding = 'x'.repeat(1000)
    let waits = 0
    for (let n = 0; n < 2000; n++)
      if (!a.notify('tick', { n, padding })) {
        waits++
        expect(a.transport.queuedBytes).toBeLessThan(70 * 1024)
        await a.drained()
      }
    await until(() => seen.length === 2000)
    expect(waits).toBeGreaterThan(10)
    expect(seen).toEqual(Array.from({ length: 2000 }, (_, n) => n))
  })

  test('a peer that never reads is cut off at the hard bound', async () => {
    const { a, b } = await peers({}, { highWaterBytes: 1024, lowWaterBytes: 512, maxQueuedBytes: 4 * 1024 * 1024 })
    a.start()
    b.start()
    b.transport.pause()
    const padding = 'x'.repeat(64 * 1024)
    for (let i = 0; i < 400 && !a.isClosed; i++) {
      a.notify('tick', padding)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await a.closed).toMatchObject({ code: 'overflow' })
  })

  test('delivery stops while paused, loses nothing and keeps its order', async () => {
    const { a, b } = await peers()
    const seen: number[] = []
    b.onNotification('tick', integer(), (n) => {
      seen.push(n)
      if (n === 3) b.transport.pause()
    })
    b.onRequest('echo', string, (text) => text)
    a.start()
    b.start()
    for (let n = 1; n <= 6; n++) a.notify('tick', n)
    await until(() => seen.length === 3)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(seen).toEqual([1, 2, 3])
    b.transport.resume()
    await a.request('echo', 'done', string)
    expect(seen).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('held messages wait for release in order, answers still arrive', async () => {
    const { a, b } = await peers()
    const seen: string[] = []
    a.onRequest('name', unknown, () => 'owner')
    a.start()
    const release = b.holdIncoming()
    b.start()
    a.notify('tell', '1')
    const asked = a.request('ask', '2', string)
    expect(await b.request('name', {}, string)).toBe('owner')
    b.onNotification('tell', string, (text) => void seen.push(text))
    b.onRequest('ask', string, (text) => {
      seen.push(text)
      return 'answered'
    })
    expect(seen).toEqual([])
    release()
    expect(await asked).toBe('answered')
    expect(seen).toEqual(['1', '2'])
  })

  test('ids beyond 2^53 echo exactly, and malformed messages are answered and survived', async () => {
    linked = await link()
    const problems: RpcProblem[] = []
    const b = new RpcPeer(linked.b, { onProblem: (problem) => problems.push(problem) })
    b.onRequest('echo', unknown, (value) => value)
    b.start()
    const answers: string[] = []
    linked.a.start({ onMessage: (text) => answers.push(text), onProblem() {}, onClose() {} })
    for (const text of [
      '{"id":9007199254740993,"method":"echo","params":{"id":1}}',
      '{"method":"echo","params":{"id":9007199254740995},"id":-9223372036854775808}',
      '{"id":9223372036854775808,"method":"echo"}',
      'not json',
      '[]',
      '{"id":5,"method":7}',
      '{"id":1.5,"method":"echo"}',
      '{"id":"last","method":"echo","params":[]}',
    ])
      linked.a.send(text)
    await until(() => answers.length === 8)
    const idOf = (text: string) => /"id":("?[^,}"]*"?)/.exec(text)?.[1]
    const answered = answers.filter((text) => text.includes('"result"'))
    const refused = answers.filter((text) => text.includes('"error"'))
    expect(answered.map(idOf)).toEqual(['9007199254740993', '-9223372036854775808', '"last"'])
    expect(refused.map(idOf)).toEqual(['null', 'null', 'null', '5', 'null'])
    expect(refused.map((text) => (JSON.parse(text) as { error: { code: number } }).error.code)).toEqual([
      -32600, -32700, -32600, -32600, -32600,
    ])
    expect(problems.map((problem) => problem.kind)).toEqual(Array(5).fill('malformed'))
  })

  test('a second request with the id of a running one is refused, the first is answered', async () => {
    linked = await link()
    const b = new RpcPeer(linked.b)
    let finish = (_: string) => {}
    b.onRequest('wait', unknown, () => new Promise<string>((resolve) => (finish = resolve)))
    b.start()
    const answers: unknown[] = []
    linked.a.start({ onMessage: (text) => answers.push(JSON.parse(text)), onProblem() {}, onClose() {} })
    linked.a.send('{"id":1,"method":"wait"}')
    linked.a.send('{"id":1,"method":"wait"}')
    await until(() => answers.length === 1)
    finish('first')
    await until(() => answers.length === 2)
    expect(answers).toMatchObject([
      { id: 1, error: { code: -32600 } },
      { id: 1, result: 'first' },
    ])
  })

  test('a malformed answer fails its request and is not answered', async () => {
    linked = await link()
    const b = new RpcPeer(linked.b).start()
    const seen: { method?: string; id?: number }[] = []
    linked.a.start({
      onMessage: (text) => {
        const message = JSON.parse(text) as { id: number }
        seen.push(message)
        linked?.a.send(`{"id":${message.id},"error":"no object"}`)
      },
      onProblem() {},
      onClose() {},
    })
    const error = await failure(b.request('ask', {}, unknown))
    expect(error).toMatchObject({ code: 'internal', message: expect.stringContaining('malformed') })
    await failure(b.request('ask', {}, unknown))
    expect(seen.map((message) => message.method)).toEqual(['ask', 'ask'])
  })

  test('notifications that are unknown, ill-typed or throw, also later, are reported and survived', async () => {
    const { a, b, problems } = await peers()
    b.onNotification('typed', integer(), () => {})
    b.onNotification('throws', unknown, () => {
      throw new Error('now')
    })
    b.onNotification('rejects', unknown, async () => {
      throw new Error('later')
    })
    b.onRequest('echo', string, (text) => text)
    a.start()
    b.start()
    a.notify('unknown')
    a.notify('typed', 'x')
    a.notify('throws')
    a.notify('rejects')
    expect(await a.request('echo', 'alive', string)).toBe('alive')
    expect(problems.map((problem) => problem.kind)).toEqual([
      'unknown-notification',
      'bad-notification',
      'handler',
      'handler',
    ])
  })

  test('a result that JSON cannot hold is an internal error, params that JSON cannot hold fail the caller', async () => {
    const { a, b } = await peers()
    b.onRequest('big', unknown, () => 2n ** 70n)
    b.onRequest('echo', string, (text) => text)
    a.start()
    b.start()
    expect(await failure(a.request('big', {}, unknown))).toMatchObject({ code: 'internal' })
    await expect(a.request('echo', 1n, string)).rejects.toThrow('BigInt')
    expect(await a.request('echo', 'alive', string)).toBe('alive')
  })
})
