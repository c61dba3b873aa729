import { expect, test } from 'vitest'
import { findHiddenCharacters } from './hidden-characters.ts'

/** The text as a person sees it: each mark in brackets. */
function seen(text: string, options = {}): string {
  let out = ''
  let at = 0
  for (const mark of findHiddenCharacters(text, options)) {
    out += `${text.slice(at, mark.start)}[${mark.label}]`
    at = mark.end
  }
  return out + text.slice(at)
}

test.each([
  ['ls \u202e x fr- mr\u202c', 'ls [\\u{202e}] x fr- mr[\\u{202c}]'],
  ['git\u200b status', 'git[\\u{200b}] status'],
  ['g\u0456t status', 'g[\\u{456}]t status'],
  ['git status\r\u001b[2Krm -rf x', 'git status[\\r][\\e][2Krm -rf x'],
  ['git status\u2028rm -rf x', 'git status[\\u{2028}]rm -rf x'],
  ['echo \u2066safe\u2069 \u2067; rm -rf x', 'echo [\\u{2066}]safe[\\u{2069}] [\\u{2067}]; rm -rf x'],
  ['\ufeffgit status', '[\\u{feff}]git status'],
  ['echo \u00adok', 'echo [\\u{ad}]ok'],
  ['ls\u0008\u0008rm x', 'ls[\\b][\\b]rm x'],
  ['ls \udb40\udc61', 'ls [\\u{e0061}]'],
  ['cat \u05e7\u05d5\u05d1\u05e5.txt', 'cat \u05e7\u05d5\u05d1\u05e5.txt'],
])('E80 the hidden characters of %j are drawn with their code point', (text, expected) => {
  expect(seen(text)).toBe(expected)
})

test.each([
  ['plain ASCII', 'git push --force origin main'],
  ['a German file name', 'cat Übersicht_für_März.txt'],
  ['a Russian word', 'echo привет'],
  ['Chinese text', 'echo 你好'],
  ['an accented name', 'José'],
])('%s is left alone', (_what, text) => {
  expect(findHiddenCharacters(text)).toEqual([])
})

test('a word made only of look-alikes is marked whole', () => {
  expect(findHiddenCharacters('ѕсоре').map((mark) => mark.name)).toEqual([
    'U+0455 looks like s',
    'U+0441 looks like c',
    'U+043E looks like o',
    'U+0440 looks like p',
    'U+0435 looks like e',
  ])
})

test.each([
  ['full-width letters', 'ｒm', '[\\u{ff52}]m'],
  ['a Greek question mark that looks like ;', 'ls\u037e rm', 'ls[\\u{37e}] rm'],
  ['a division slash in a host', 'https:\u2215\u2215evil', 'https:[\\u{2215}][\\u{2215}]evil'],
  ['a no-break space', 'rm\u00a0-rf', 'rm[\\u{a0}]-rf'],
  ['a lone surrogate', 'a\ud800b', 'a[\\u{d800}]b'],
  ['a blank that is not a space', 'a\u3164b', 'a[\\u{3164}]b'],
])('%s is marked', (_what, text, expected) => {
  expect(seen(text)).toBe(expected)
})

test('line feed and tab are ordinary in a script and marked in a name', () => {
  expect(seen('a\n\tb', { allowLineBreaksAndTabs: true })).toBe('a\n\tb')
  expect(seen('a\n\tb')).toBe('a[\\n][\\t]b')
})

test('each mark is named for screen readers', () => {
  expect(findHiddenCharacters('\u202e')).toEqual([
    { start: 0, end: 1, kind: 'direction', label: '\\u{202e}', name: 'U+202E right-to-left override' },
  ])
})

test('a typographic apostrophe is ordinary in a title and marked in a command', () => {
  expect(seen('don’t – now', { prose: true })).toBe('don’t – now')
  expect(seen('don’t – now')).toBe('don[\\u{2019}]t [\\u{2013}] now')
})
