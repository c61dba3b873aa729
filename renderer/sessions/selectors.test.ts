import { expect, test } from 'vitest'
import { applySnapshot } from '../feed/apply-deltas.ts'
import { initialFeedState } from '../feed/feed-state.ts'
import { connection, NOON_MS, process, session, snapshot } from '../testing/view-fixtures.ts'
import { filterSessions, groupSessions, selectProcessesOfSession, selectSessions } from './selectors.ts'

const older = session({
  id: 'old',
  title: 'Write docs',
  agentName: 'codex',
  cwd: '/w/docs',
  posture: 'idle',
  lastActivityAtMs: NOON_MS - 60_000,
})
const newer = session({ id: 'new', title: 'Fix test', cwd: '/w/shop', posture: 'waits', lastActivityAtMs: NOON_MS })
const state = applySnapshot(
  initialFeedState(),
  snapshot({
    sessions: [older, newer],
    processes: [process({ id: 'p1', sessionId: 'old', argv: ['bash', '-lc', 'cargo build'] })],
    connections: [connection({ sessionId: 'new', host: 'crates.example' })],
  }),
  NOON_MS,
)
const find = (query: string, postures: ('waits' | 'idle')[] = []): string[] =>
  filterSessions(state, { query, postures: new Set(postures) }).map((row) => row.id)

test('sessions come latest activity first', () => {
  expect(selectSessions(state).map((row) => row.id)).toEqual(['new', 'old'])
})

test.each([
  ['docs', ['old']],
  ['CODEX', ['old']],
  ['cargo', ['old']],
  ['crates.ex', ['new']],
  ['/w/', ['new', 'old']],
  ['nothing like it', []],
])('searching for %j finds %j', (query, ids) => {
  expect(find(query)).toEqual(ids)
})

test('postures narrow the list, none means all', () => {
  expect([find('', ['waits']), find('', ['waits', 'idle']), find('docs', ['waits'])]).toEqual([
    ['new'],
    ['new', 'old'],
    [],
  ])
})

test('groups are in order of their latest session', () => {
  const names = (by: 'time' | 'folder' | 'agent') => groupSessions([newer, older], by).map((group) => group.name)
  expect([names('time'), names('folder'), names('agent')]).toEqual([
    [null],
    ['/w/shop', '/w/docs'],
    ['claude-code', 'codex'],
  ])
})

test('a selector returns the same object while nothing it reads changes', () => {
  expect(selectProcessesOfSession(state, 'old')).toBe(selectProcessesOfSession({ ...state, rev: 99 }, 'old'))
  expect(selectProcessesOfSession(state, 'nobody')).toBe(selectProcessesOfSession(state, 'nothing'))
})
