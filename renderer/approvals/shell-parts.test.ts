import fc from '../../sidecars/testing/fast-check.ts'
import { expect, test } from 'vitest'
import { readShellText, unquote } from './shell-parts.ts'

const read = (text: string): string =>
  readShellText(text)
    .parts.filter((part) => part.kind !== 'space')
    .map((part) => `${part.kind}:${text.slice(part.start, part.end)}`)
    .join(' ')
const programs = (text: string): string[][] => readShellText(text).commands.map((command) => command.words)

test('programs, arguments and separators are told apart', () => {
  expect(read('git push --force origin main  &&  rm -rf ./dist')).toBe(
    'program:git argument:push argument:--force argument:origin argument:main separator:&& program:rm argument:-rf argument:./dist',
  )
})

test('redirections carry their target', () => {
  expect(read('make 2>&1 >"out put" < /dev/null')).toBe(
    'program:make redirection:2>&1 redirection:>"out put" redirection:< redirection:/dev/null',
  )
})

test('a substitution shows the program inside it', () => {
  expect(read('echo "a $(rm -rf x) b" `id` <(ls) ${HOME} $PATH $((1+2))')).toBe(
    'program:echo argument:"a  substitution:$( program:rm argument:-rf argument:x substitution:) argument: b" ' +
      'substitution:` program:id substitution:` substitution:<( program:ls substitution:) ' +
      'substitution:${HOME} substitution:$PATH substitution:$((1+2))',
  )
})

test('quoted separators do not separate', () => {
  expect(read(`echo 'a && b' "c; d" e\\;f`)).toBe(`program:echo argument:'a && b' argument:"c; d" argument:e\\;f`)
})

test('assignments stand before the program', () => {
  expect(read('CI=1 FOO="a b" npm test')).toBe('assignment:CI=1 assignment:FOO="a b" program:npm argument:test')
})

test('keywords, comments and heredocs are their own kind', () => {
  expect(read('if true; then rm x; fi # why\ncat <<EOF\nrm -rf /\nEOF\nls')).toBe(
    'keyword:if program:true separator:; keyword:then program:rm argument:x separator:; keyword:fi comment:# why separator:\n ' +
      'program:cat redirection:<<EOF separator:\n heredoc:rm -rf /\nEOF\n program:ls',
  )
})

test('E80 what only looks like a blank is part of the word', () => {
  expect(read('\ufeffgit status\u2028rm\u00a0x\r')).toBe('program:\ufeffgit argument:status\u2028rm\u00a0x\r')
})

test('a hash inside a word is no comment', () => {
  expect(read('echo a#b #c')).toBe('program:echo argument:a#b comment:#c')
})

test('E79 every program of a long line is found, wherever it stands', () => {
  const line = `export PATH=${'/opt/tool/bin:'.repeat(330)} && npm test -- --run${' '.repeat(400)}; rm -rf "$HOME/x"`
  expect(programs(line).map(([program]) => program)).toEqual(['export', 'npm', 'rm'])
})

test('a command that reads the output of another is marked', () => {
  expect(readShellText('curl -s x | sh').commands).toEqual([
    { words: ['curl', '-s', 'x'], piped: false },
    { words: ['sh'], piped: true },
  ])
})

test.each(['echo "unfinished', 'echo $(ls', 'cat <<EOF\nno end', "echo 'x", 'a \\', '`', '$((', '${', '>', '<<'])(
  'unfinished text %j is read to its end',
  (text) => {
    const { parts } = readShellText(text)
    expect(parts.map((part) => text.slice(part.start, part.end)).join('')).toBe(text)
  },
)

test('the parts put together are the text, whatever the text is', () => {
  const unit = fc.constantFrom(...'ab \t\n\'"\\$`(){}<>|&;#=!-0[]é\u202e')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
      const { parts } = readShellText(text)
      expect(parts.map((part) => text.slice(part.start, part.end)).join('')).toBe(text)
    }),
    { numRuns: 3_000 },
  )
})

test('a word is unquoted as the shell would', () => {
  expect([`g"i"t`, `'a b'`, `a\\ b`, `"x\\"y"`, '$HOME'].map(unquote)).toEqual(['git', 'a b', 'a b', 'x"y', '$HOME'])
})
