import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

let server: ExecServerAlone
beforeAll(async () => {
  server = await startExecServerAlone()
})
afterAll(() => server.stop())

interface Chunk {
  seq: number
  chunk: string
}
const textOf = (chunks: Chunk[]) => Buffer.concat(chunks.map(({ chunk }) => Buffer.from(chunk, 'base64'))).toString()

describe('a session', () => {
  it('E113 outlives its connection: every line once and in order over three connections, one process', async () => {
    const collected: Chunk[] = []
    const take = (client: ExecWireClient) => {
      for (const { params = {} } of client.notifications('process/output'))
        if (!collected.some(({ seq }) => seq === params.seq)) collected.push(params as unknown as Chunk)
    }
    const first = await ExecWireClient.open(server.url)
    const process = await first
      .run(['sh', '-c', 'for i in $(seq 1 50); do echo $i; sleep .05; done'], { id: 'p' })
      .running()
    await process.said('10\n')
    first.drop()
    await first.closed
    take(first)
    let last = first
    for (const until of ['25\n', '50\n']) {
      const next = await ExecWireClient.open(server.url, first.sessionId)
      expect(next.sessionId).toBe(first.sessionId)
      const watched = next.watch('p')
      const cursor = Math.max(...collected.map(({ seq }) => seq))
      const missed = await next.call('process/read', { processId: 'p', afterSeq: cursor, waitMs: 0 })
      collected.push(...(missed.chunks as Chunk[]).filter(({ seq }) => !collected.some((c) => c.seq === seq)))
      if (until === '50\n') await next.until(() => watched.isClosed)
      else await next.until(() => watched.text().includes(until))
      take(next)
      if (until === '50\n') expect(watched.exitCode).toBe(0)
      last = next
      if (until !== '50\n') {
        next.drop()
        await next.closed
      }
    }
    collected.sort((a, b) => a.seq - b.seq)
    expect(textOf(collected)).toBe(`${Array.from({ length: 50 }, (_, i) => i + 1).join('\n')}\n`)
    expect(collected.map(({ seq }) => seq)).toEqual(collected.map((_, i) => i + 1))
    last.drop()
  })

  it('lets its processes run on while nobody is attached, unblocked, and keeps what they print', async () => {
    const first = await ExecWireClient.open(server.url)
    await first
      .run(['sh', '-c', 'read go; head -c 5000000 /dev/zero; echo; echo END'], { id: 'q', pipeStdin: true })
      .running()
    await first.ask('process/write', { processId: 'q', chunk: 'Cg==', writeId: '1' })
    first.drop()
    await first.closed
    const second = await ExecWireClient.open(server.url, first.sessionId)
    await expect
      .poll(async () => (await second.call('process/read', { processId: 'q', afterSeq: 0, maxBytes: 1 })).closed, {
        timeout: 10_000,
      })
      .toBe(true)
    let bytes = 0
    let text = ''
    for (let afterSeq = 0; ;) {
      const { chunks } = await second.call('process/read', { processId: 'q', afterSeq, maxBytes: 500_000 })
      if ((chunks as Chunk[]).length === 0) break
      for (const { seq, chunk } of chunks as Chunk[]) {
        bytes += Buffer.from(chunk, 'base64').length
        text = Buffer.from(chunk, 'base64').toString()
        afterSeq = seq
      }
    }
    expect(bytes).toBe(5_000_005)
    expect(text.endsWith('END\n')).toBe(true)
    // A write whose answer was lost is not written twice.
    expect(await second.call('process/write', { processId: 'q', chunk: 'Cg==', writeId: '1' })).toEqual({
      status: 'accepted',
    })
    second.drop()
  })

  it('has one connection at a time', async () => {
    const first = await ExecWireClient.open(server.url)
    const other = await ExecWireClient.connect(server.url)
    expect(await other.initialize(first.sessionId)).toMatchObject({
      error: { code: -32010, message: `session ${first.sessionId} is already attached to another connection` },
    })
    // The refused connection may still open a session of its own.
    expect(await other.initialize()).toHaveProperty('result.sessionId')
    expect(await first.call('environment/status')).toEqual({ status: 'ready' })
    first.drop()
    other.drop()
  })

  it('ends the long polls of a connection with it', async () => {
    const first = await ExecWireClient.open(server.url)
    await first.run(['sleep', '60'], { id: 'w' }).running()
    void first.ask('process/read', { processId: 'w', waitMs: 3_600_000 })
    await first.call('environment/status')
    first.drop()
    await first.closed
    const second = await ExecWireClient.open(server.url, first.sessionId)
    expect(await second.call('process/read', { processId: 'w', waitMs: 1 })).toMatchObject({ exited: false })
    await second.call('process/terminate', { processId: 'w' })
    second.drop()
  })
})
