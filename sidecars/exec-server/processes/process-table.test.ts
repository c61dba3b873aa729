import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SessionId } from '../../protocol/ids.ts'
import { Session } from '../sessions/session.ts'
import type { Child } from './child.ts'
import { CLOSED_RETENTION_MS, ProcessTable } from './process-table.ts'

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
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-table-'))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

function tableWith(keepEnded: number) {
  const forgotten: string[] = []
  const table = new ProcessTable(
    { folder, limitBytes: 64 * 1024 * 1024, keepEnded },
    { onChanged() {}, onStarted() {}, onExited() {}, onForgotten: ({ id }) => forgotten.push(id) },
  )
  const session = new Session('test')
  const run = (clientProcessId: string, outputBytes = 1) => {
    const seed = { sessionId: 's' as SessionId, clientProcessId, argv: ['x'], cwd: '/', tty: false }
    const process = table.add(seed, session)
    process.begin(idle, undefined)
    process.onOutput('stdout', Buffer.alloc(outputBytes), undefined)
    process.onExit({ code: 0, signal: null })
    process.onOutputEnd()
    return process
  }
  return { table, session, forgotten, run }
}

describe('the table of processes', () => {
  it('keeps a closed one and its id for 80 s and then forgets it', () => {
    const { table, session, forgotten, run } = tableWith(0)
    const process = run('p')
    vi.advanceTimersByTime(CLOSED_RETENTION_MS - 1)
    expect(session.find('p')).toBe(process)
    vi.advanceTimersByTime(1)
    expect(session.find('p')).toBeUndefined()
    expect(table.find(process.id)).toBeUndefined()
    expect(forgotten).toEqual([process.id])
  })

  it('does not count from the exit: open output keeps it', () => {
    const { session, table } = tableWith(0)
    const seed = { sessionId: 's' as SessionId, clientProcessId: 'p', argv: ['x'], cwd: '/', tty: false }
    const process = table.add(seed, session)
    process.begin(idle, undefined)
    process.onExit({ code: 0, signal: null })
    vi.advanceTimersByTime(10 * CLOSED_RETENTION_MS)
    expect(session.find('p')).toBe(process)
    process.onOutputEnd()
    vi.advanceTimersByTime(CLOSED_RETENTION_MS)
    expect(session.find('p')).toBeUndefined()
  })

  it('keeps some beyond their client for whoever supervises, the newest', () => {
    const { table, session, forgotten, run } = tableWith(2)
    const [first, second, third] = [run('a'), run('b'), run('c')]
    vi.advanceTimersByTime(CLOSED_RETENTION_MS)
    expect(session.all()).toEqual([])
    expect(forgotten).toEqual([first?.id])
    expect(table.all()).toEqual([second, third])
  })

  it('forgets a failed start at once', () => {
    const { table, session, forgotten } = tableWith(0)
    const seed = { sessionId: 's' as SessionId, clientProcessId: 'p', argv: ['x'], cwd: '/', tty: false }
    const process = table.add(seed, session)
    table.failed(process, 'no')
    expect(process.facts()).toMatchObject({ state: 'failed', detail: 'no' })
    expect(session.find('p')).toBeUndefined()
    expect(forgotten).toEqual([process.id])
  })

  it('moves the output of many closed ones out of memory', async () => {
    const { run } = tableWith(1_000)
    const processes = Array.from({ length: 60 }, (_, i) => run(`p${i}`, 1_000_000))
    vi.useRealTimers()
    const inMemory = () => processes.reduce((sum, { log }) => sum + log.memoryBytes, 0)
    await vi.waitFor(() => expect(inMemory()).toBeLessThan(33 * 1024 * 1024), { timeout: 10_000 })
    const page = await processes[0]?.log.read(0, 10_000_000, 10)
    expect(page?.chunks[0]?.bytes).toHaveLength(1_000_000)
    await Promise.all(processes.map(({ log }) => log.dispose()))
  })
})
