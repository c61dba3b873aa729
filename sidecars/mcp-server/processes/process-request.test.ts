import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readCommand, type CommandWords } from './process-request.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'gh-request-')))
mkdirSync(join(root, 'real'))
symlinkSync(join(root, 'real'), join(root, 'link'))
writeFileSync(join(root, 'file'), '')
afterAll(() => rmSync(root, { recursive: true }))

test('an argv runs as it is, in the folder of the connection', () => {
  expect(readCommand({ argv: ['git', 'log', ''] }, root)).toEqual({
    argv: ['git', 'log', ''],
    cwd: root,
    env: {},
    tty: false,
    pipeStdin: false,
  })
})

test('shell text goes to bash in one piece, through the login profile only when asked', () => {
  const { argv } = readCommand({ shell: 'echo "$HOME" | wc -c' }, root)
  expect(argv.slice(1)).toEqual(['-c', 'echo "$HOME" | wc -c'])
  expect(argv[0]).toMatch(/\/(ba)?sh$/)
  expect(readCommand({ shell: 'nvm use', login: true }, root).argv.slice(1)).toEqual(['-lc', 'nvm use'])
})

test('E37 in a terminal nothing waits in a pager; the agent may still choose one', () => {
  expect(readCommand({ argv: ['git', 'log'], tty: true }, root).env).toEqual({
    TERM: 'xterm-256color',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
  })
  expect(readCommand({ argv: ['x'], tty: true, env: { PAGER: 'less' } }, root).env.PAGER).toBe('less')
})

test('A17 the folder that is shown is the folder that is used: links are resolved', () => {
  expect(readCommand({ argv: ['ls'], cwd: join(root, 'link') }, undefined).cwd).toBe(join(root, 'real'))
})

const refused: [string, CommandWords, RegExp][] = [
  ['neither argv nor shell', {}, /^argv: give either/],
  ['both argv and shell', { argv: ['a'], shell: 'a' }, /^argv: give either/],
  ['an empty argv', { argv: [] }, /^argv\[0\]: /],
  ['an empty program', { argv: ['', 'x'] }, /^argv\[0\]: /],
  ['blank shell text', { shell: ' \n' }, /^shell: /],
  ['E05 a NUL in an argument', { argv: ['echo', 'a\0b'] }, /^argv\[1\]: .*NUL/],
  ['E05 a NUL in a variable', { argv: ['echo'], env: { X: 'a\0b' } }, /^env\.X: .*NUL/],
  ['a variable without a name', { argv: ['echo'], env: { '': 'x' } }, /^env\.""/],
  ['half a surrogate pair', { argv: ['echo', '\ud800'] }, /^argv\[1\]: .*Unicode/],
  ['a relative folder', { argv: ['ls'], cwd: 'src' }, /^cwd: expected an absolute path, got "src"/],
  ['a missing folder', { argv: ['ls'], cwd: join(root, 'nope') }, /^cwd: .*does not exist/],
  ['a file as folder', { argv: ['ls'], cwd: join(root, 'file') }, /^cwd: .*not a folder/],
]
test.each(refused)('%s is refused by name', (_, words, message) => {
  expect(() => readCommand(words, root)).toThrow(message)
})

test('without any folder the error says to pass one', () => {
  expect(() => readCommand({ argv: ['ls'] }, undefined)).toThrow(/^cwd: .*pass an absolute path/)
})
