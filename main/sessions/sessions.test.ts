import { beforeEach, describe, expect, it } from 'vitest'
import type { SessionView } from '../../preload/api.ts'
import type { SessionFacts } from '../../sidecars/protocol/host-channel.ts'
import type { SessionId } from '../../sidecars/protocol/ids.ts'
import type { AuditEvent } from '../audit/audit.ts'
import type { SessionCounts } from './session-view.ts'
import { Sessions } from './sessions.ts'

const A = 'ses_a' as SessionId
const facts = (more: Partial<SessionFacts> = {}): SessionFacts => ({
  id: A,
  agentName: 'Claude Code',
  via: 'mcp-stdio',
  openedAtMs: 100,
  ...more,
})
const source = { sidecar: 'mcp-server' as const, generation: 1 }

let rows: Map<string, SessionView>
let journal: AuditEvent[]
let closed: string[]
let renamed: number
let counts: SessionCounts
let now: number
let sessions: Sessions
beforeEach(() => {
  rows = new Map()
  journal = []
  closed = []
  renamed = 0
  now = 500
  counts = { runningCount: 0, processCount: 0, pendingCount: 0, blockedCount: 0 }
  sessions = new Sessions({
    audit: { record: (event) => void journal.push(event) },
    countsOf: () => counts,
    publish: (id, view) => void (view ? rows.set(id, view) : rows.delete(id)),
    onRenamed: () => renamed++,
    onClosed: (id, reason) => closed.push(`${id} ${reason}`),
    now: () => now,
  })
})

describe('Sessions', () => {
  it('a session that says a turn runs is working, without any process', () => {
    sessions.open(facts({}), source)
    expect(rows.get(A)).toMatchObject({ posture: 'idle' })
    sessions.update(facts({ isWorking: true }))
    expect(rows.get(A)?.posture).toBe('working')
  })
  it('shows a session as announced and joins what belongs to it', () => {
    sessions.open(facts({ cwd: '/home/me/shop/', agentVersion: '2' }), source)
    expect(rows.get(A)).toEqual({
      id: A,
      agentName: 'Claude Code',
      agentVersion: '2',
      title: 'shop',
      cwd: '/home/me/shop/',
      via: 'mcp-stdio',
      posture: 'idle',
      openedAtMs: 100,
      closedAtMs: null,
      lastActivityAtMs: 100,
      lastLine: '',
      processCount: 0,
      pendingCount: 0,
      blockedCount: 0,
    })
    expect(journal).toEqual([
      {
        kind: 'session.opened',
        sessionId: A,
        agentName: 'Claude Code',
        agentVersion: '2',
        via: 'mcp-stdio',
        cwd: '/home/me/shop/',
      },
    ])
  })

  it('takes the posture from what it waits for and what runs', () => {
    sessions.open(facts(), source)
    counts = { runningCount: 1, processCount: 3, pendingCount: 0, blockedCount: 2 }
    sessions.refresh(A)
    expect(rows.get(A)).toMatchObject({ posture: 'working', processCount: 3, blockedCount: 2 })
    counts = { ...counts, pendingCount: 1 }
    sessions.refresh(A)
    expect(rows.get(A)).toMatchObject({ posture: 'waits', pendingCount: 1 })
    sessions.close(A, 'the agent left')
    expect(rows.get(A)).toMatchObject({ posture: 'ended', closedAtMs: 500 })
  })

  it('is titled by its first request until the agent gives a title', () => {
    sessions.open(facts({ cwd: '/w' }), source)
    sessions.noteActivity(A, 'npm test')
    sessions.noteActivity(A, 'npm run build')
    expect(rows.get(A)).toMatchObject({ title: 'npm test', lastLine: 'npm run build', lastActivityAtMs: 500 })
    sessions.update(facts({ title: 'fix flaky test' }))
    expect(rows.get(A)?.title).toBe('fix flaky test')
    expect(renamed).toBe(3)
    expect(sessions.named(A)).toEqual({ agentName: 'Claude Code', title: 'fix flaky test', via: 'mcp-stdio' })
  })

  it('E112 never shows activity before an earlier one when the clock goes back', () => {
    sessions.open(facts(), source)
    sessions.noteActivity(A)
    now = 50
    sessions.noteActivity(A)
    expect(rows.get(A)?.lastActivityAtMs).toBe(500)
  })

  it('ends once, and what belongs to it is told', () => {
    sessions.open(facts(), source)
    sessions.close(A, 'the agent left')
    sessions.close(A, 'again')
    sessions.close('ses_unknown' as SessionId)
    expect(closed).toEqual(['ses_a the agent left'])
    expect(journal.map((event) => event.kind)).toEqual(['session.opened', 'session.closed'])
    expect(sessions.isOpen(A)).toBe(false)
  })

  it('is lost with the life of the sidecar that announced it, not with another', () => {
    const B = 'ses_b' as SessionId
    const own = 'ses_own' as SessionId
    sessions.open(facts(), source)
    sessions.open(facts({ id: B }), { ...source, generation: 2 })
    sessions.open(facts({ id: own, via: 'command-line' }), null)
    sessions.loseGeneration('exec-server', 5, 'no')
    sessions.loseGeneration('mcp-server', 1, 'the MCP server stopped')
    expect(rows.get(A)).toMatchObject({ posture: 'failed' })
    expect([sessions.isOpen(B), sessions.isOpen(own), sessions.openCount()]).toEqual([true, true, 2])
  })

  it('forgets the oldest of many ended sessions, never an open one', () => {
    sessions.open(facts({ id: 'open' as SessionId }), source)
    for (let i = 0; i < 510; i++) {
      const id = `ses_${i}` as SessionId
      sessions.open(facts({ id }), source)
      sessions.close(id)
    }
    expect(rows.size).toBe(501)
    expect(rows.has('open')).toBe(true)
    expect(rows.has('ses_9')).toBe(false)
    expect(rows.has('ses_10')).toBe(true)
  })
})
