import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ApprovalView, FeedBatch, FeedSnapshot } from '../../preload/api.ts'
import { tellWhatWaits } from './waiting-hint.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const approval = (id: string, over: Partial<ApprovalView> = {}): ApprovalView =>
  ({
    id,
    sessionId: 'ses_1',
    state: 'pending',
    subject: { kind: 'connection', host: 'a.example', port: 443, protocol: 'https' },
    ...over,
  }) as ApprovalView

test('what still waits after a moment is named once, with the command that answers it; others are not', async () => {
  let send: (batch: FeedBatch) => void = () => {}
  const said: string[] = []
  const tables = { approvals: { req_0: approval('req_0'), req_x: approval('req_x', { sessionId: 'ses_2' }) } }
  const client = {
    subscribe: async (onSnapshot: (snapshot: FeedSnapshot) => void, onBatch: (batch: FeedBatch) => void) => {
      send = onBatch
      onSnapshot({ tables, host: { commandLine: 'node /x/gatehouse' } } as unknown as FeedSnapshot)
    },
  }
  await tellWhatWaits(client, 'ses_1', (line) => said.push(line))
  const push = (id: string, value: ApprovalView | null) =>
    send({ rev: 1, deltas: [{ table: 'approvals', key: id, value }] })
  push('req_1', approval('req_1'))
  push('req_0', approval('req_0', { waiting: 2 }))
  push('req_2', approval('req_2'))
  push('req_2', approval('req_2', { state: 'decided' }))
  await vi.runAllTimersAsync()
  push('req_1', approval('req_1', { waiting: 2 }))
  await vi.runAllTimersAsync()
  expect(said).toEqual([
    'a.example:443 (https) waits for your answer: node /x/gatehouse approve req_0 (or deny)',
    'a.example:443 (https) waits for your answer: node /x/gatehouse approve req_1 (or deny)',
  ])
})
