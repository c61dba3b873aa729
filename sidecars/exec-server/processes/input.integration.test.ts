import { createHash } from 'node:crypto'
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

describe('input', () => {
  it('E28 ends at once for programs that were started without one', async () => {
    expect((await client.run(['cat']).closed()).text()).toBe('')
    const count = await client.run(['python3', '-c', 'import sys;print(len(sys.stdin.read()))']).closed()
    expect(count.text()).toBe('0\n')
  })

  it('E30 of 10 MiB arrives whole and ends when asked to', async () => {
    const bytes = Buffer.alloc(10 * 1024 * 1024)
    for (let i = 0; i < bytes.length; i++) bytes[i] = i % 251
    const process = await client.run(['sha256sum'], { pipeStdin: true }).running()
    expect((await process.write(bytes, { closeStdin: true })).result).toEqual({ status: 'accepted' })
    expect((await process.write('more')).result).toEqual({ status: 'stdinClosed' })
    const expected = createHash('sha256').update(bytes).digest('hex')
    expect((await process.closed()).text()).toBe(`${expected}  -\n`)
  })

  it('E30 of many writers is delivered in the order of acceptance', async () => {
    const process = await client.run(['cat'], { pipeStdin: true }).running()
    const words = Array.from({ length: 300 }, (_, i) => `${i}\n`)
    await Promise.all(words.map((word) => process.write(word)))
    await process.write('', { closeStdin: true })
    expect((await process.closed()).text()).toBe(words.join(''))
  })

  it('that has ended can still be opened by name', async () => {
    const script = 'sleep 0.1; cat /dev/stdin; cat /dev/stdin; echo over'
    const process = await client.run(['sh', '-c', script], { pipeStdin: true }).running()
    await process.write('said before\n', { closeStdin: true })
    expect((await process.closed()).text()).toBe('said before\nover\n')
  })

  it('is accepted without end for a child that never reads, and does not hold up the server', async () => {
    const process = await client.run(['sleep', '60'], { pipeStdin: true }).running()
    for (let i = 0; i < 8; i++)
      expect((await process.write(Buffer.alloc(1024 * 1024, 1))).result).toEqual({ status: 'accepted' })
    expect(await process.terminate()).toEqual({ running: true })
    await process.closed()
  })

  it('E31 answers with its state where there is none to write to', async () => {
    const ended = await client.run(['true']).closed()
    expect((await ended.write([3] as unknown as Uint8Array)).result).toEqual({ status: 'stdinClosed' })
    const running = await client.run(['sleep', '60']).running()
    expect((await running.write('\x03')).result).toEqual({ status: 'stdinClosed' })
    expect((await client.call('process/write', { processId: 'nobody', chunk: '', writeId: '1' })).status).toBe(
      'unknownProcess',
    )
    const gone = await client.run(['true'], { pipeStdin: true }).closed()
    expect((await gone.write('late')).result).toEqual({ status: 'accepted' })
    await running.interrupt()
    expect((await running.closed()).exitCode).toBe(130)
  })

  it('is written once however often a write is repeated', async () => {
    const process = await client.run(['cat'], { pipeStdin: true }).running()
    const write = (text: string, writeId: string) =>
      client.ask('process/write', { processId: process.id, chunk: Buffer.from(text).toString('base64'), writeId })
    await write('a', '1')
    expect((await write('a', '1')).result).toEqual({ status: 'accepted' })
    expect((await write('different', '1')).result).toEqual({ status: 'accepted' })
    for (let i = 0; i < 4_096; i++) void write('', `fill-${i}`)
    await write('b', '1')
    await process.write('', { closeStdin: true })
    expect((await process.closed()).text()).toBe('ab')
  })

  it('refuses what is no base64, and an empty write id', async () => {
    const process = await client.run(['cat'], { pipeStdin: true }).running()
    const write = (chunk: string, writeId = 'x') =>
      client.ask('process/write', { processId: process.id, chunk, writeId })
    expect((await write('QQ')).error).toMatchObject({ code: -32602, message: expect.stringContaining('chunk') })
    expect((await write('QQ==', '')).error).toMatchObject({ code: -32602, message: 'writeId must not be empty' })
    await process.terminate()
  })
})
