import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ProcessFacts } from '../../protocol/host-channel.ts'
import type { ProcessId, SessionId } from '../../protocol/ids.ts'
import { ManagedProcess } from '../processes/managed-process.ts'
import { ChangedProcesses } from './changed-processes.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function watched() {
  const reports: ProcessFacts[] = []
  const seed = { sessionId: 's' as SessionId, clientProcessId: 'p', argv: ['x'], cwd: '/', tty: false }
  const process = new ManagedProcess('prc_1' as ProcessId, seed, undefined, () => {})
  return { reports, process, changed: new ChangedProcesses((facts) => reports.push(facts)) }
}

describe('what the host hears of a process', () => {
  it('is each new state at once, and growing output at most every 100 ms', () => {
    const { reports, process, changed } = watched()
    changed.note(process)
    expect(reports.map(({ state }) => state)).toEqual(['starting'])
    for (let i = 0; i < 1_000; i++) {
      process.onOutput('stdout', Buffer.from('x'), undefined)
      changed.note(process)
    }
    expect(reports).toHaveLength(1)
    vi.advanceTimersByTime(100)
    expect(reports.at(-1)).toMatchObject({ outputBytes: 1_000, nextSeq: 1_001 })
    process.onOutput('stdout', Buffer.from('y'), undefined)
    changed.note(process)
    process.onExit({ code: 0, signal: null })
    changed.note(process)
    expect(reports.at(-1)).toMatchObject({ state: 'exited', outputBytes: 1_001 })
    vi.advanceTimersByTime(1_000)
    expect(reports).toHaveLength(3)
  })

  it('is nothing any more when it is forgotten', () => {
    const { reports, process, changed } = watched()
    changed.note(process)
    changed.note(process)
    changed.drop(process)
    vi.advanceTimersByTime(1_000)
    expect(reports).toHaveLength(1)
  })
})
