import { expect, test } from 'vitest'
import { applySnapshot } from '../feed/apply-deltas.ts'
import { initialFeedState } from '../feed/feed-state.ts'
import { NOON_MS, rule, snapshot } from '../testing/view-fixtures.ts'
import { filterRules, passesFilter, ruleSource, selectRules, type RuleFilter } from './selectors.ts'

const state = applySnapshot(
  initialFeedState(),
  snapshot({
    rules: [
      rule({ id: 'c', source: 'z.rules', line: 1 }),
      rule({ id: 'b', source: 'default.rules', line: 20, words: 'Deny rm', effect: 'deny' }),
      rule({ id: 'a', source: 'default.rules', line: 3, kind: 'network', text: 'network_rule(host = "a.example")' }),
    ],
  }),
  NOON_MS,
)
const find = (kind: 'command' | 'network', query = '') =>
  filterRules(selectRules(state), kind, query).map((row) => row.id)

test('rules come in the order of their files', () => {
  expect(selectRules(state).map((row) => row.id)).toEqual(['a', 'b', 'c'])
})

test('rules are found by kind, text, words and source', () => {
  expect([
    find('network'),
    find('command'),
    find('command', 'deny RM'),
    find('command', 'z.rules'),
    find('network', 'nowhere'),
  ]).toEqual([['a'], ['b', 'c'], ['b'], ['c'], []])
})

test('rules that never fired and those with a remark can be shown alone', () => {
  const rows = [rule({ id: 'a', lastFiredAtMs: null }), rule({ id: 'b', lastFiredAtMs: 1, flag: 'has no effect' })]
  const shown = (filter: RuleFilter) => rows.filter((row) => passesFilter(row, filter)).map(({ id }) => id)
  expect([shown('all'), shown('neverFired'), shown('flagged')]).toEqual([['a', 'b'], ['a'], ['b']])
})

test('a source names its line where it has one', () => {
  expect([ruleSource(rule()), ruleSource(rule({ source: 'this session', line: null }))]).toEqual([
    'default.rules:9',
    'this session',
  ])
})
