import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

let server: ExecServerAlone
let client: ExecWireClient
beforeAll(async () => {
  server = await startExecServerAlone()
  client = await ExecWireClient.open(server.url)
})
afterAll(async () => {
  client.drop()
  await server.stop()
})
const sh = (script: string, options = {}) => client.run(['sh', '-c', script], options)
const contiguous = (seqs: number[]) => seqs.every((seq, i) => seq === i + 1)

describe('output', () => {
  it('E01 E03 arrives byte for byte, each stream for itself', async () => {
    const writer = `
import os, time
for fd, b in [(1,b'\\xe2'),(2,b'\\xf0'),(1,b'\\x82'),(2,b'\\x9f'),(1,b'\\xac'),(2,b'\\x98'),(2,b'\\x80'),(1,b'\\n')]:
    os.write(fd, b); time.sleep(.02)`
    const split = await client.run(['python3', '-c', writer]).closed()
    expect(split.text('stdout')).toBe('€\n')
    expect(split.text('stderr')).toBe('😀')
    const odd = await client.run(['printf', 'a\\000b\\377\\376c\\n']).closed()
    expect(odd.bytes()).toEqual(Buffer.from([0x61, 0, 0x62, 0xff, 0xfe, 0x63, 0x0a]))
  })

  it('E08 of 100 MB arrives complete while others are served, in bounded memory', async () => {
    const rssMiB = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
    const before = rssMiB()
    const flood = await sh('head -c 104857600 /dev/zero | tr "\\0" x; echo; echo END').running()
    await client.until(() => flood.chunkSizes.length > 20)
    expect((await client.run(['echo', 'ping']).closed()).text()).toBe('ping\n')
    await flood.closed()
    expect(flood.bytes().length).toBe(104_857_600 + 5)
    expect(flood.text().endsWith('x\nEND\n')).toBe(true)
    expect(contiguous(flood.seqs)).toBe(true)
    expect(Math.max(...flood.chunkSizes)).toBeLessThanOrEqual(65_536)
    expect(rssMiB() - before).toBeLessThan(100)
    // An old cursor shows the gap: the first chunk is far beyond it.
    const page = (await flood.read({ afterSeq: 1, maxBytes: 1 })) as { chunks: { seq: number }[] }
    expect(page.chunks[0]?.seq).toBeGreaterThan(2)
  })

  it('E09 can be read from the first byte to the last line of a long one, with the exit code', async () => {
    const script = "for i in range(3): print(str(i)*400000)\nprint('error: link failed'); raise SystemExit(3)"
    const process = await client.run(['python3', '-c', script]).closed()
    const pages: Buffer[] = []
    for (let afterSeq = 0; ;) {
      const page = (await process.read({ afterSeq, maxBytes: 100_000 })) as {
        chunks: { seq: number; chunk: string }[]
        exitCode: number
      }
      expect(page.exitCode).toBe(3)
      if (page.chunks.length === 0) break
      for (const { seq, chunk } of page.chunks) {
        pages.push(Buffer.from(chunk, 'base64'))
        afterSeq = seq
      }
    }
    const text = Buffer.concat(pages).toString()
    expect(text.length).toBe(1_200_003 + 'error: link failed\n'.length)
    expect(text.startsWith('000')).toBe(true)
    expect(text.endsWith('\nerror: link failed\n')).toBe(true)
  })

  it('a reader that pages behind a flood gets every byte', async () => {
    const process = await sh('head -c 60000000 /dev/urandom | tee /dev/stderr | sha256sum', {
      pipeStdin: false,
    }).running()
    const hash = createHash('sha256')
    let bytes = 0
    for (let afterSeq = 0; ;) {
      const page = (await process.read({ afterSeq, maxBytes: 1 << 20, waitMs: 5_000 })) as {
        chunks: { seq: number; stream: string; chunk: string }[]
        closed: boolean
      }
      for (const { seq, stream, chunk } of page.chunks) {
        afterSeq = seq
        if (stream !== 'stderr') continue
        const piece = Buffer.from(chunk, 'base64')
        bytes += piece.length
        hash.update(piece)
      }
      if (page.closed && page.chunks.length === 0) break
    }
    expect(bytes).toBe(60_000_000)
    expect((await process.closed()).text('stdout')).toContain(hash.digest('hex'))
  })

  it('is read with waiting as the wire has it', async () => {
    const process = await sh('read a; echo a; read b; echo b; read c', { pipeStdin: true }).running()
    expect(await process.read({})).toEqual({
      chunks: [],
      nextSeq: 1,
      exited: false,
      exitCode: null,
      closed: false,
      failure: null,
      sandboxDenied: false,
    })
    expect(await process.read({ waitMs: 50 })).toMatchObject({ chunks: [], nextSeq: 1 })
    const first = process.read({ waitMs: 30_000 })
    await process.write('\n')
    expect(await first).toMatchObject({ chunks: [{ seq: 1, stream: 'stdout', chunk: 'YQo=' }], nextSeq: 2 })
    const second = process.read({ afterSeq: 1, waitMs: 30_000 })
    await process.write('\n')
    expect(await second).toMatchObject({ chunks: [{ seq: 2 }], nextSeq: 3 })
    const end = process.read({ afterSeq: 2, waitMs: 30_000 })
    await process.write('\n')
    expect(await end).toMatchObject({ chunks: [], exited: true, exitCode: 0, closed: true, nextSeq: 5 })
    expect(await process.read({ maxBytes: 0 })).toMatchObject({ chunks: [{ seq: 1 }], nextSeq: 2, exited: true })
    expect(await process.read({ afterSeq: 1 })).toMatchObject({ chunks: [{ seq: 2 }], nextSeq: 5 })
    expect(await client.ask('process/read', { processId: 'nobody' })).toMatchObject({
      error: { code: -32600, message: 'unknown process id nobody' },
    })
  })
})
