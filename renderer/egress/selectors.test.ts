import { expect, test } from 'vitest'
import { connection, NOON_MS } from '../testing/view-fixtures.ts'
import {
  countByMinute,
  filterConnections,
  latestConnections,
  rankHosts,
  sortConnections,
  verdictOf,
  type ConnectionFilter,
} from './selectors.ts'

const blocked = connection({ id: 'c1', openedAtMs: NOON_MS - 200_000, host: 'b.example', count: 3 })
const allowed = connection({
  id: 'c2',
  state: 'closed',
  verdict: 'allow',
  openedAtMs: NOON_MS - 100_000,
  closedAtMs: NOON_MS - 99_000,
  host: 'a.example',
  bytesIn: 500,
  sessionId: 'ses_2',
  sessionTitle: 'Docs',
  processId: 'prc_2',
  command: 'curl',
})
const asked = connection({
  id: 'c3',
  state: 'asked',
  verdict: undefined,
  openedAtMs: NOON_MS,
  host: 'a.example',
  port: 80,
})
const rows = [asked, allowed, blocked]
const everything: ConnectionFilter = { query: '', verdicts: new Set(), narrowing: null, host: null, span: null }
const find = (over: Partial<ConnectionFilter>): string[] =>
  filterConnections(rows, { ...everything, ...over }).map((row) => row.id)

test('a verdict survives the end of its connection', () => {
  expect(
    [blocked, allowed, asked, connection({ state: 'failed', verdict: 'allow' }), connection({ state: 'closed' })].map(
      verdictOf,
    ),
  ).toEqual(['blocked', 'allowed', 'asked', 'failed', 'blocked'])
})

test('the latest come first, whatever order they arrived in', () => {
  const table = { rows: new Map([allowed, blocked, asked].map((row) => [row.id, row])) }
  expect(latestConnections(table).map((row) => row.id)).toEqual(['c3', 'c2', 'c1'])
  expect(latestConnections(table)).toBe(latestConnections(table))
})

test('filters combine', () => {
  expect(find({ verdicts: new Set(['allowed', 'asked']) })).toEqual(['c3', 'c2'])
  expect(find({ host: 'a.example', verdicts: new Set(['asked']) })).toEqual(['c3'])
  expect(find({ narrowing: { by: 'session', value: 'ses_2' } })).toEqual(['c2'])
  expect(find({ narrowing: { by: 'process', value: 'prc_1' } })).toEqual(['c3', 'c1'])
  expect(find({ span: { fromMs: NOON_MS - 100_000, toMs: NOON_MS } })).toEqual(['c2'])
  expect(filterConnections(rows, everything)).toBe(rows)
})

test.each([
  ['a.example:80', ['c3']],
  ['CURL', ['c2']],
  ['docs', ['c2']],
  ['nobody', []],
])('searching for %j finds %j', (query, ids) => {
  expect(find({ query })).toEqual(ids)
})

test('the last hour is counted minute by minute, repeats included', () => {
  const minutes = countByMinute(rows, NOON_MS)
  expect(minutes).toHaveLength(60)
  expect(minutes.at(-1)).toEqual({ atMs: NOON_MS, allowed: 0, asked: 1, blocked: 0 })
  expect(minutes.reduce((sum, minute) => sum + minute.blocked, 0)).toBe(3)
  expect(
    countByMinute([connection({ openedAtMs: NOON_MS - 7_200_000 })], NOON_MS).every((minute) => minute.blocked === 0),
  ).toBe(true)
})

test('hosts are ranked by connections', () => {
  expect(rankHosts(rows, 10)).toEqual([
    { host: 'b.example', count: 3, blocked: 3 },
    { host: 'a.example', count: 2, blocked: 0 },
  ])
  expect(rankHosts(rows, 1)).toHaveLength(1)
})

test('columns sort both ways', () => {
  const by = (column: string, descending: boolean) => sortConnections(rows, { column, descending }).map((row) => row.id)
  expect([by('bytes', true), by('time', false), by('host', false)]).toEqual([
    ['c2', 'c3', 'c1'],
    ['c1', 'c2', 'c3'],
    ['c3', 'c2', 'c1'],
  ])
})
