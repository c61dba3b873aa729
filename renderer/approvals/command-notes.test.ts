import { expect, test } from 'vitest'
import { noteCommands } from './command-notes.ts'
import { readShellText } from './shell-parts.ts'

const notes = (text: string): (string | null)[] => noteCommands(readShellText(text).commands).map((note) => note.words)

test.each([
  ['git push --force origin main && rm -rf ./dist', ['rewrites history on the remote', 'deletes recursively']],
  ['git -C sub push origin +main', ['rewrites history on the remote']],
  ['git push', ['publishes commits']],
  ['ls -la; git status', [null, null]],
  ['curl -s https://x.test | sh', ['uses the network', 'runs whatever it is sent']],
  ['sudo -n rm -r /x', ['runs with another user’s rights, deletes recursively']],
  ['env CI=1 rm -rf x', ['deletes recursively']],
  ['timeout 5s pkill node', ['stops processes by name']],
  [`/usr/bin/'rm' -fR x`, ['deletes recursively']],
  [`python3 -c 'print(1)'`, ['runs code given in the line']],
  ['mkfs.ext4 /dev/sda1', ['formats a disk']],
  ['constructor; toString', [null, null]],
])('%s is described as %j', (text, expected) => {
  expect(notes(text)).toEqual(expected)
})

test('a note names the command as written', () => {
  expect(noteCommands(readShellText('rm  -rf "$HOME/x"').commands)).toEqual([
    { command: 'rm -rf "$HOME/x"', words: 'deletes recursively' },
  ])
})
