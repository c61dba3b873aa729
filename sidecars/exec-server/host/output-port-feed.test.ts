import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ProcessId, SessionId } from '../../protocol/ids.ts'
import { OUTPUT_WINDOW_BYTES, type OutputPortFromServer } from '../../protocol/output-port.ts'
import type { PortLike } from '../../rpc/sidecar.ts'
import type { Child } from '../processes/child.ts'
import { ManagedProcess } from '../processes/managed-process.ts'
import { OutputSpool } from '../processes/output-spool.ts'
import { ProcessTable } from '../processes/process-table.ts'
import { serveOutputPort } from './attach-output.ts'
import { OutputPortFeed } from './output-port-feed.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-port-'))
})
const processes: ManagedProcess[] = []
afterEach(() => {
  for (const process of processes.splice(0)) process.dispose()
  rmSync(folder, { recursive: true, force: true })
})

const idle: Child = {
  pid: 1,
  stdin: 'none',
  outputPaths: [],
  queuedInputBytes: 0,
  write() {},
  endInput() {},
  pause() {},
  resume() {},
  resize() {},
  dispose() {},
}
function runningProcess(spoolBytes = 64 * 1024 * 1024): ManagedProcess {
  const seed = { sessionId: 's' as SessionId, clientProcessId: 'p', argv: ['x'], cwd: '/', tty: false }
  const process = new ManagedProcess(
    'prc_1' as ProcessId,
    seed,
    new OutputSpool(join(folder, 'spool'), spoolBytes),
    () => {},
  )
  process.begin(idle, undefined)
  processes.push(process)
  return process
}
const print = (process: ManagedProcess, size: number) => process.onOutput('stdout', Buffer.alloc(size, 'a'), undefined)

/** The two ends as the host hands them out. */
function ports() {
  const { port1, port2 } = new MessageChannel()
  const near: PortLike = {
    postMessage: (message) => port1.postMessage(message),
    on: ((event: string, listener: (value: unknown) => void) =>
      event === 'message'
        ? port1.on('message', (data) => listener({ data }))
        : port1.on('close', () => listener(undefined))) as PortLike['on'],
    start: () => port1.start(),
    close: () => port1.close(),
  }
  const received: OutputPortFromServer[] = []
  port2.on('message', (message: OutputPortFromServer) => received.push(message))
  const bytes = () => received.reduce((sum, m) => sum + (m.type === 'output' ? m.bytes.length : 0), 0)
  return { near, received, bytes, say: (message: object) => port2.postMessage(message), close: () => port2.close() }
}
const quiet = () => new Promise((resolve) => setTimeout(resolve, 30))

describe('the feed of a view', () => {
  it('sends what is on disk, what is in memory and what comes, in one order, to the end', async () => {
    const process = runningProcess()
    for (let i = 0; i < 40; i++) print(process, 50_000)
    const { near, received, bytes, say } = ports()
    new OutputPortFeed(process, near, 0).start()
    for (let seen = 0; seen < 2_000_000; seen = bytes()) {
      await quiet()
      say({ type: 'ack', bytes: bytes() - seen })
    }
    print(process, 3)
    process.onExit({ code: null, signal: 'SIGTERM' })
    print(process, 4)
    process.onOutputEnd()
    await vi.waitFor(() => expect(received.at(-1)?.type).toBe('closed'), 20_000)
    const seqs = received.map((message) => ('seq' in message ? message.seq : 0))
    expect(seqs).toEqual(seqs.map((_, i) => i + 1))
    expect(received.slice(-4)).toMatchObject([
      { type: 'output', seq: 41 },
      { type: 'exited', seq: 42, exitCode: null, exitSignal: 'SIGTERM' },
      { type: 'output', seq: 43 },
      { type: 'closed', seq: 44 },
    ])
  })

  it('never has more on its way than the window, and carries only its own bytes', async () => {
    const process = runningProcess()
    for (let i = 0; i < 120; i++) print(process, 60_000)
    const { near, received, bytes, say, close } = ports()
    new OutputPortFeed(process, near, 0).start()
    await vi.waitFor(() => expect(bytes()).toBeGreaterThan(OUTPUT_WINDOW_BYTES - 120_000), 20_000)
    await quiet()
    expect(bytes()).toBeLessThanOrEqual(OUTPUT_WINDOW_BYTES + 60_000)
    const before = bytes()
    say({ type: 'ack', bytes: 600_000 })
    await vi.waitFor(() => expect(bytes()).toBeGreaterThan(before), 20_000)
    await quiet()
    expect(bytes()).toBeLessThanOrEqual(before + 600_000 + 60_000)
    for (const message of received)
      if (message.type === 'output') expect(message.bytes.buffer.byteLength).toBe(message.bytes.length)
    close()
  })

  it('starts behind a cursor and names what is missing', async () => {
    const process = runningProcess(1024 * 1024)
    for (let i = 0; i < 100; i++) {
      print(process, 50_000)
      if (i % 10 === 0) await vi.waitFor(() => expect(process.log.isSettled).toBe(true), 20_000)
    }
    await vi.waitFor(() => expect(process.log.isSettled).toBe(true), 20_000)
    const { near, received, close } = ports()
    new OutputPortFeed(process, near, 5).start()
    await vi.waitFor(() => expect(received.length).toBeGreaterThan(1), 20_000)
    const [gap, first] = received
    expect(gap).toMatchObject({ type: 'gap', fromSeq: 6 })
    expect(first).toMatchObject({ type: 'output', seq: gap?.type === 'gap' ? gap.toSeq + 1 : 0 })
    close()
  })

  it('stops when the view lets go', async () => {
    const process = runningProcess()
    const { near, received, say } = ports()
    new OutputPortFeed(process, near, 0).start()
    print(process, 1)
    await vi.waitFor(() => expect(received).toHaveLength(1), 20_000)
    say({ type: 'detach' })
    await quiet()
    print(process, 1)
    await quiet()
    expect(received).toHaveLength(1)
  })

  it('says why there is nothing to see', async () => {
    const table = new ProcessTable(
      { folder, limitBytes: 0, keepEnded: 0 },
      { onChanged() {}, onStarted() {}, onExited() {}, onForgotten() {} },
    )
    for (const [message, words] of [
      [{ type: 'attachOutput', processId: 'prc_gone' }, 'not known'],
      [{ type: 'attachOutput' }, 'processId'],
    ] as const) {
      const { near, received, close } = ports()
      serveOutputPort(table, message, near)
      await vi.waitFor(() => expect(received).toHaveLength(1), 20_000)
      expect(received[0]).toMatchObject({ type: 'failed', message: expect.stringContaining(words) })
      close()
    }
  })
})
