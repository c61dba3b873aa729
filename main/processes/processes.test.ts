import { beforeEach, describe, expect, it } from 'vitest'
import type { ProcessView } from '../../preload/api.ts'
import type { ProcessFacts } from '../../sidecars/protocol/host-channel.ts'
import type { ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { AuditEvent } from '../audit/audit.ts'
import { Processes } from './processes.ts'
import { Sampler } from './sampler.ts'

const P = 'prc_1' as ProcessId
const facts = (more: Partial<ProcessFacts> = {}): ProcessFacts => ({
  id: P,
  sessionId: 'ses_a' as SessionId,
  clientProcessId: 'c',
  argv: ['npm', 'test'],
  cwd: '/w',
  tty: false,
  pid: null,
  state: 'starting',
  startedAtMs: 1,
  outputBytes: 0,
  firstSeq: 0,
  nextSeq: 1,
  acceptsInput: true,
  ...more,
})

let rows: Map<string, ProcessView>
let journal: AuditEvent[]
let lives: string[]
let processes: Processes
beforeEach(() => {
  rows = new Map()
  journal = []
  lives = []
  processes = new Processes({
    audit: { record: (event) => void journal.push(event) },
    contextOf: () => ({ sessionTitle: 'title', connectionCount: 2, blockedCount: 1 }),
    publish: (id, view) => void (view ? rows.set(id, view) : rows.delete(id)),
    onLife: ({ id, state }) => lives.push(`${id} ${state}`),
    now: () => 99,
  })
})

describe('Processes', () => {
  it('shows facts joined with the session and its connections, and records start and exit once', () => {
    processes.change(facts(), 1)
    processes.change(facts({ state: 'running', pid: 7 }), 1)
    processes.change(facts({ state: 'running', pid: 7, outputBytes: 10 }), 1)
    processes.change(facts({ state: 'exited', pid: 7, exitCode: 3, outputBytes: 20 }), 1)
    processes.change(facts({ state: 'closed', pid: 7, exitCode: 3, outputBytes: 25 }), 1)
    expect(rows.get(P)).toEqual({
      ...facts({ state: 'closed', pid: 7, exitCode: 3, outputBytes: 25 }),
      sessionTitle: 'title',
      cpuPercent: null,
      rssBytes: null,
      connectionCount: 2,
      blockedCount: 1,
    })
    expect(journal).toEqual([
      { kind: 'process.started', processId: P, sessionId: 'ses_a', argv: ['npm', 'test'], cwd: '/w', pid: 7 },
      { kind: 'process.ended', processId: P, sessionId: 'ses_a', exitCode: 3, outputBytes: 20 },
    ])
    expect(lives).toEqual(['prc_1 starting', 'prc_1 running', 'prc_1 exited', 'prc_1 closed'])
  })

  it('is lost with its exec server, once, and late news of the dead life change nothing', () => {
    processes.change(facts({ state: 'running', pid: 7, nextSeq: 5 }), 1)
    const next = 'prc_2' as ProcessId
    processes.change(facts({ id: next, state: 'running', pid: 8 }), 2)
    processes.loseGeneration(1, 'the exec server stopped')
    processes.change(facts({ state: 'running', pid: 7, outputBytes: 50 }), 1)
    expect(rows.get(P)).toMatchObject({
      state: 'failed',
      detail: 'lost: the exec server stopped',
      firstSeq: 5,
      acceptsInput: false,
      exitedAtMs: 99,
      outputBytes: 0,
    })
    expect(rows.get(next)?.state).toBe('running')
    expect(processes.alive().map(({ id }) => id)).toEqual([next])
    expect(journal.filter((event) => event.kind === 'process.ended')).toHaveLength(1)
  })

  it('shows that nothing can be read any more when its output was dropped', () => {
    processes.change(facts({ state: 'closed', pid: 7, nextSeq: 9 }), 1)
    processes.forget(P)
    expect(rows.get(P)).toMatchObject({ firstSeq: 9, nextSeq: 9, acceptsInput: false })
    processes.forget('prc_unknown' as ProcessId)
  })

  it('keeps the newest 500 that ended and all that run', () => {
    processes.change(facts({ id: 'run' as ProcessId, state: 'running', pid: 1 }), 1)
    for (let i = 0; i < 520; i++) processes.change(facts({ id: `p${i}` as ProcessId, state: 'closed', pid: 2 }), 1)
    expect(rows.size).toBe(501)
    expect(rows.has('run')).toBe(true)
    expect(rows.has('p19')).toBe(false)
    expect(processes.countOf('ses_a' as SessionId)).toBe(501)
  })
})

describe('Sampler', () => {
  const member = (cpuMs: number, rssBytes: number) => ({ pid: 1, ppid: 0, name: 'x', cpuMs, rssBytes, ownGroup: true })

  it('adds up a tree and gives the share of one processor since the last look', async () => {
    let now = 0
    let trees = [member(100, 10), member(50, 5)]
    const reports: unknown[] = []
    const sampler = new Sampler({
      wanted: () => [P],
      members: async () => trees,
      report: (id, usage) => reports.push([id, usage]),
      now: () => now,
    })
    await sampler.sample()
    expect(reports).toEqual([])
    now = 2_000
    trees = [member(600, 20), member(1_550, 5)]
    await sampler.sample()
    now = 4_000
    trees = [member(700, 20)]
    await sampler.sample()
    expect(reports).toEqual([
      [P, { cpuPercent: 100, rssBytes: 25 }],
      [P, { cpuPercent: 0, rssBytes: 20 }],
    ])
  })

  it('passes over a process that cannot be looked at and asks nothing while nobody watches', async () => {
    let asked = 0
    let wanted: ProcessId[] = []
    const sampler = new Sampler({
      wanted: () => wanted,
      members: async () => {
        asked++
        throw new Error('gone')
      },
      report: () => expect.unreachable(),
    })
    await sampler.sample()
    wanted = [P]
    await sampler.sample()
    expect(asked).toBe(1)
  })
})
