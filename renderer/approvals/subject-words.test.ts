import { expect, test } from 'vitest'
import type { Subject } from '../../preload/api.ts'
import { subjectLine } from './subject-words.ts'

const change = (path: string, outsideRoots: boolean) => ({ kind: 'update' as const, path, outsideRoots })

test.each([
  [{ kind: 'toolUse', toolName: 'Write', input: { n: 1, file_path: '/etc/hosts', content: 'x' } }, 'Write /etc/hosts'],
  [{ kind: 'toolUse', toolName: 'Wait', input: { seconds: 5 } }, 'Wait'],
  [{ kind: 'toolUse', toolName: 'Odd', input: null }, 'Odd'],
  [{ kind: 'fileChange', changes: [change('/w/a', false)] }, '/w/a'],
  [{ kind: 'fileChange', changes: [change('/w/a', false), change('/etc/b', true)] }, '/etc/b and 1 more file'],
] as [Subject, string][])('%j is named in one line', (subject, line) => {
  expect(subjectLine(subject)).toBe(line)
})
