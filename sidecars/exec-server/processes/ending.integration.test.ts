import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

let server: ExecServerAlone
let client: ExecWireClient
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-processes-'))
  server = await startExecServerAlone()
  client = await ExecWireClient.open(server.url)
})
afterAll(async () => {
  client.drop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})
const sh = (script: string, options = {}) => client.run(['sh', '-c', script], options)
const contiguous = (seqs: number[]) => seqs.every((seq, i) => seq === i + 1)

describe('ends', () => {
  it('E13 children start with every signal as it is by default', async () => {
    const script = 'yes | head -1; echo ${PIPESTATUS[0]}; grep -E "Sig(Ign|Blk)" /proc/self/status'
    for (const tty of [false, true]) {
      const process = await client.run(['bash', '-c', script], { tty }).closed()
      expect(process.text().replaceAll('\r', '')).toMatch(/^y\n141\nSigBlk:\s+0+\nSigIgn:\s+0+\n$/)
    }
  })

  it('E15 an exit is told at once, and output that comes after it still arrives', async () => {
    const process = client.run(['bash', '-c', '(sleep 1.5; echo late) & echo parent'])
    await process.exited()
    expect(process.exitCode).toBe(0)
    expect(process.isClosed).toBe(false)
    expect(process.text()).toBe('parent\n')
    await process.closed()
    expect(process.text()).toBe('parent\nlate\n')
    expect(process.events).toEqual(['output', 'exited', 'output', 'closed'])
    expect(contiguous(process.seqs)).toBe(true)
  })

  it('codes say which signal ended a process on pipes', async () => {
    for (const [signal, code] of [
      ['INT', 130],
      ['KILL', 137],
      ['TERM', 143],
    ] as const)
      expect((await sh(`kill -${signal} $$`).closed()).exitCode).toBe(code)
    const process = await client.run(['sleep', '60']).running()
    await process.interrupt()
    expect((await process.closed()).exitCode).toBe(130)
    expect(await client.call('process/signal', { processId: 'nobody', signal: 'interrupt' })).toEqual({})
    expect(await process.interrupt()).toEqual({})
    expect(await client.ask('process/signal', { processId: process.id, signal: 'terminate' })).toMatchObject({
      error: { code: -32602 },
    })
  })

  it('E25 terminate ends everything in spite of steady output, and what was said is there', async () => {
    const fifo = join(folder, 'q987')
    const process = await client.run([
      'bash',
      '-c',
      `mkfifo ${fifo}; (while :; do echo w; sleep .1; done) > ${fifo} & cat ${fifo}`,
    ])
    await process.said('w\nw\n')
    expect(await process.terminate()).toEqual({ running: true })
    await process.closed()
    expect(process.exitCode).toBe(137)
    expect((await sh('pgrep -f q987 | grep -v $$ ; true').closed()).text()).toBe('')
  })

  it('terminate answers whether there was something to end', async () => {
    const process = await client.run(['true']).closed()
    expect(await process.terminate()).toEqual({ running: false })
    expect(await client.call('process/terminate', { processId: 'nobody' })).toEqual({ running: false })
  })
})

describe('stopping what has hardly begun', () => {
  it('leaves nothing, whenever the terminate or the end of the connection comes', async () => {
    const marker = `985.${process.pid % 100}1`
    for (let i = 0; i < 40; i++) {
      const other = await ExecWireClient.open(server.url)
      const processes = Array.from({ length: 3 }, () => other.run(['sleep', marker]))
      if (i % 2 === 0) for (const started of processes) void started.terminate()
      await new Promise((resolve) => setTimeout(resolve, i % 5))
      await Promise.all(processes.map((started) => started.terminate()))
      other.drop()
    }
    const left = async () => (await sh(`pgrep -fx "sleep ${marker}" ; true`).closed()).text()
    await expect.poll(left, { timeout: 5_000 }).toBe('')
  })
})
