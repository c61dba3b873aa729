import { Terminal } from '@xterm/xterm'
import { afterEach, expect, test } from 'vitest'
import { makeOutputInert, openableUrl } from './terminal-safety.ts'

const open: Terminal[] = []
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.dispose()
})

function start(mayAnswer: boolean) {
  const terminal = new Terminal({ allowProposedApi: true, cols: 80, rows: 24 })
  open.push(terminal)
  makeOutputInert(terminal, () => mayAnswer)
  const sent: string[] = []
  const titles: string[] = []
  terminal.onData((text) => sent.push(text))
  terminal.onTitleChange((title) => titles.push(title))
  const write = (text: string): Promise<void> => new Promise((resolve) => terminal.write(text, resolve))
  const firstLine = (): string | undefined => terminal.buffer.active.getLine(0)?.translateToString(true)
  return { write, sent, titles, firstLine }
}

test('E43 a clipboard write in output does nothing and a clipboard read gets no answer', async () => {
  const { write, sent, firstLine } = start(true)
  await write('\x1b]52;c;')
  await write(`${btoa('echo pasted-by-output\n')}\x07`)
  await write('\x1b]52;c;?\x07\x1b]52;p;!\x1b\\shown')
  expect(sent).toEqual([])
  expect(firstLine()).toBe('shown')
})

test('E45 titles, folders and shell marks in output change nothing', async () => {
  const { write, titles, sent, firstLine } = start(true)
  await write('\x1b]0;Gatehouse - approved\x07\x1b]2;a\nb\u202ec\x1b\\')
  await write('\x1b]7;file://host/evil\x07\x1b]633;P;Cwd=/evil\x07\x1b]633;E;rm -rf x\x07\x1b]1337;x\x07shown')
  expect(titles).toEqual([])
  expect(sent).toEqual([])
  expect(firstLine()).toContain('shown')
})

const QUESTIONS = '\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n\x1b[18t\x1b]10;?\x07\x1b]4;1;?\x07\x1bP$qm\x1b\\'

test('output that is shown again asks nothing a second time', async () => {
  const { write, sent } = start(false)
  await write(QUESTIONS)
  expect(sent).toEqual([])
})

test('a live terminal answers the questions of its program', async () => {
  const { write, sent } = start(true)
  await write('\x1b[6n\x1b[c')
  expect(sent).toEqual(['\x1b[1;1R', expect.stringContaining('\x1b[?')])
})

test.each([
  ['https://example.org/a', 'https://example.org/a'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/'],
  ['javascript:alert(1)', undefined],
  ['file:///etc/passwd', undefined],
  ['vscode://x', undefined],
  ['not an address', undefined],
])('the address %s may be opened as %s', (address, href) => {
  expect(openableUrl(address)?.href).toBe(href)
})
