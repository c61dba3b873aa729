import { expect, test } from 'vitest'
import { applySnapshot } from '../feed/apply-deltas.ts'
import { initialFeedState } from '../feed/feed-state.ts'
import { NOON_MS, process, snapshot } from '../testing/view-fixtures.ts'
import { exitWords, filterProcesses, selectProcesses } from './selectors.ts'

const running = process({ id: 'run', argv: ['npm', 'test'], startedAtMs: NOON_MS - 90_000, cpuPercent: 50 })
const done = process({
  id: 'done',
  argv: ['ls'],
  state: 'closed',
  exitCode: 0,
  startedAtMs: NOON_MS,
  outputBytes: 9,
  cpuPercent: null,
})
const other = process({
  id: 'other',
  sessionId: 'ses_2',
  sessionTitle: 'docs',
  argv: ['make'],
  startedAtMs: NOON_MS - 10,
  pid: 77,
})
const state = applySnapshot(initialFeedState(), snapshot({ processes: [done, running, other] }), NOON_MS)
const everything = { query: '', liveOnly: false, narrowing: null }
const ids = (rows: readonly { id: string }[]): string[] => rows.map((row) => row.id)

test('live processes come first, then the latest', () => {
  expect(ids(selectProcesses(state))).toEqual(['other', 'run', 'done'])
})

test.each([
  ['make', ['other']],
  ['DOCS', ['other']],
  ['77', ['other']],
  ['/src/shop', ['other', 'run', 'done']],
])('searching for %j finds %j', (query, found) => {
  expect(ids(filterProcesses(selectProcesses(state), { ...everything, query }, null))).toEqual(found)
})

test('the table narrows to a session and to what is running', () => {
  const narrowing = { by: 'session' as const, value: 'ses_1' }
  expect(ids(filterProcesses(selectProcesses(state), { ...everything, narrowing }, null))).toEqual(['run', 'done'])
  expect(ids(filterProcesses(selectProcesses(state), { ...everything, narrowing, liveOnly: true }, null))).toEqual([
    'run',
  ])
})

test('columns sort both ways; an unknown value counts as least', () => {
  const by = (column: string, descending: boolean) =>
    ids(filterProcesses(selectProcesses(state), everything, { column, descending }))
  expect(by('cpu', true)).toEqual(['run', 'other', 'done'])
  expect(by('command', false)).toEqual(['done', 'other', 'run'])
})

test('an exit is said in words', () => {
  expect(
    [
      running,
      done,
      { ...done, exitCode: undefined, exitSignal: 'SIGKILL' },
      { ...done, state: 'failed' as const, pid: null, exitCode: undefined },
      { ...done, state: 'failed' as const, exitCode: undefined },
    ].map(exitWords),
  ).toEqual([null, 'exit 0', 'SIGKILL', 'not started', 'lost'])
})
