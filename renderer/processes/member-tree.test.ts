import { expect, test } from 'vitest'
import type { MemberView } from '../../preload/api.ts'
import { memberRows, targetWords } from './member-tree.ts'

const member = (pid: number, ppid: number, name = `p${pid}`): MemberView => ({
  pid,
  ppid,
  name,
  cpuMs: 0,
  rssBytes: 0,
  ownGroup: true,
})
const drawn = (members: MemberView[]): string[] =>
  memberRows(members).map(({ member, depth }) => `${'  '.repeat(depth)}${member.name}`)

test('children stand under their parent', () => {
  expect(drawn([member(12, 11), member(10, 1), member(11, 10), member(13, 10)])).toEqual([
    'p10',
    '  p11',
    '    p12',
    '  p13',
  ])
})

test('a child whose parent is gone is a root of its own', () => {
  expect(drawn([member(10, 1), member(30, 29)])).toEqual(['p10', 'p30'])
})

test('a member that names itself as parent does not hang the tree', () => {
  expect(drawn([member(10, 10)])).toEqual(['p10'])
})

test('what a signal hits is named', () => {
  expect([
    targetWords([], 'npm'),
    targetWords([member(1, 0, 'npm')], ''),
    targetWords([member(1, 0, 'npm'), member(2, 1)], ''),
  ]).toEqual(['npm', 'npm (1)', 'npm (1) and 1 more'])
})
