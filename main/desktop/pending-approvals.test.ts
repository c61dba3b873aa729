import { expect, test } from 'vitest'
import type { ApprovalView, FeedBatch, FeedDelta, FeedSnapshot } from '../../preload/api.ts'
import { describeRequest } from './describe-request.ts'
import { PendingApprovals, type PendingChange } from './pending-approvals.ts'

function approval(id: string, change: Partial<ApprovalView> = {}): ApprovalView {
  return {
    id,
    sessionId: 'ses_1',
    processId: null,
    agentName: 'Claude Code',
    sessionTitle: 'fix flaky test',
    subject: {
      kind: 'command',
      argv: ['git', 'push'],
      cwd: '/src',
      envChanges: {},
      tty: false,
      stdin: 'none',
      sandbox: 'none',
    },
    subjectHash: 'ab',
    scopes: ['once'],
    why: { summary: 'no rule matches', nearly: null },
    reason: null,
    refused: null,
    state: 'pending',
    decision: null,
    endedBecause: null,
    askedAtMs: 1,
    expiresAtMs: null,
    waiting: 1,
    ...change,
  }
}

/** A feed whose batches the test sends itself. */
function feedOf(...approvals: ApprovalView[]) {
  let listener: (batch: FeedBatch) => void = () => {}
  let rev = 0
  const tables = { approvals: Object.fromEntries(approvals.map((a) => [a.id, a])) }
  return {
    snapshot: () => ({ rev, tables }) as unknown as FeedSnapshot,
    subscribe(next: typeof listener) {
      listener = next
      return () => (listener = () => {})
    },
    send: (...deltas: FeedDelta[]) => listener({ rev: ++rev, deltas }),
  }
}
const delta = (key: string, value: ApprovalView | null): FeedDelta => ({ table: 'approvals', key, value })

test('requests that were there before are counted, oldest first', () => {
  const feed = feedOf(approval('b', { askedAtMs: 2 }), approval('a'), approval('c', { state: 'decided' }))
  expect(new PendingApprovals(feed).list().map((a) => a.id)).toEqual(['a', 'b'])
})

test('a request is told once when it begins and once when it ends, however it ends', () => {
  const feed = feedOf()
  const pending = new PendingApprovals(feed)
  const told: string[] = []
  pending.onChange(({ began, ended }: PendingChange) => {
    told.push(...began.map((a) => `+${a.id}`), ...ended.map((a) => `-${a.id} ${a.state}`))
  })
  feed.send(delta('a', approval('a')), delta('b', approval('b')))
  feed.send(delta('a', approval('a', { waiting: 2 })))
  feed.send(delta('a', approval('a', { state: 'withdrawn' })), delta('b', null))
  expect(told).toEqual(['+a', '+b', '-a withdrawn', '-b pending'])
  expect(pending.count).toBe(0)
})

test('a line for a notification names who wants what, without characters that mislead', () => {
  expect(describeRequest(approval('a'))).toBe('Claude Code wants to run git push')
  const tricky = approval('a', {
    subject: { ...approval('a').subject, argv: ['echo', 'a\u202Eb\nc'] } as ApprovalView['subject'],
  })
  expect(describeRequest(tricky)).toBe('Claude Code wants to run echo a\u{fffd}b c')
  const long = approval('a', {
    subject: { ...approval('a').subject, argv: ['x'.repeat(500)] } as ApprovalView['subject'],
  })
  expect([...describeRequest(long)]).toHaveLength(120)
})
