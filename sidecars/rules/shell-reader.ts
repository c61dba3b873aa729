import type { Node } from 'web-tree-sitter'
import { findHiddenCharacter } from './hidden-characters.ts'
import type { ShellGrammar } from './shell-grammar.ts'
import { staticWord } from './shell-word.ts'

/** One program that a shell text could run. */
export interface ReadCommand {
  /** Words as they are at run time; `undefined` where only running could tell. */
  words: (string | undefined)[]
  /** As written, for people. */
  text: string
}

export interface ReadText {
  /** Every command anywhere in the text, also inside substitutions and functions, in order. */
  commands: ReadCommand[]
  /** What in the text was not followed, one clause each; empty = `commands` is all there is to it. */
  unclear: string[]
}

/** Longer texts are not read: nobody writes them by hand, and time is bounded this way. */
const LONGEST_TEXT = 256 * 1024
const SHOWN_UNCLEAR = 8

/**
 * The commands of a shell text (sh, bash, zsh). Plain commands joined by `&&`, `||`, `;`, `|` and line
 * ends are followed, with groups, subshells, negation, comments, quoted here-documents and output thrown
 * away; everything else is named in `unclear`, and commands inside it are still listed.
 */
export function readShellText(text: string, grammar: ShellGrammar): ReadText {
  if (text.length > LONGEST_TEXT) return { commands: [], unclear: [`it is longer than ${LONGEST_TEXT} characters`] }
  const asWritten = readOnce(text, grammar)
  // The grammar takes an escaped line end for a blank; a shell takes it for nothing, so that a word can
  // go on in the next line. Inside a comment it is neither. Both readings count.
  if (!text.includes('\\\n')) return asWritten
  const joined = readOnce(text.replaceAll('\\\n', ''), grammar)
  return {
    commands: [...asWritten.commands, ...joined.commands],
    unclear: [...new Set([...asWritten.unclear, ...joined.unclear])],
  }
}

function readOnce(text: string, grammar: ShellGrammar): ReadText {
  const read: ReadText = { commands: [], unclear: [] }
  const note = (what: string) => {
    if (read.unclear.length < SHOWN_UNCLEAR && !read.unclear.includes(what)) read.unclear.push(what)
  }
  const hidden = findHiddenCharacter(text)
  if (hidden !== undefined) note(`it holds the hidden character ${hidden}`)
  const followed = grammar.withTree(text, (root) => {
    if (root.hasError) note('it is not complete shell text')
    walk(root, read, note)
    return true
  })
  if (!followed) note('it takes too long to read')
  return read
}

/** Kinds of node whose children are simply run one after the other. */
const TRANSPARENT = new Set([
  'program',
  'list',
  'pipeline',
  'compound_statement',
  'subshell',
  'negated_command',
  'redirected_statement',
  'heredoc_redirect',
])
const SEPARATORS = new Set(['&&', '||', ';', '|', '|&', '\n', '(', ')', '{', '}', '!'])

/** Visits every node with a stack of its own: agents write texts that are nested thousands deep. */
function walk(root: Node, read: ReadText, note: (what: string) => void): void {
  const stack: Node[] = [root]
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node.type === 'command') {
      read.commands.push({ words: commandWords(node, note), text: shorten(node.text) })
      pushChildren(node, stack)
    } else if (TRANSPARENT.has(node.type)) {
      checkChildren(node, note)
      pushChildren(node, stack)
    } else pushChildren(node, stack)
  }
}

/** Last child first onto the stack, so that commands come out in the order of the text. */
function pushChildren(node: Node, stack: Node[]): void {
  for (let i = node.namedChildCount - 1; i >= 0; i--) {
    const child = node.namedChild(i)
    if (child) stack.push(child)
  }
}

function checkChildren(node: Node, note: (what: string) => void): void {
  for (const child of node.children) {
    if (!child) continue
    if (!child.isNamed) {
      if (child.type === '&') note('it starts something in the background')
      else if (!SEPARATORS.has(child.type) && !/^<<-?$/.test(child.type)) note(`it holds ${JSON.stringify(child.text)}`)
    } else if (child.type === 'file_redirect') noteRedirect(child, note)
    else if (child.type === 'heredoc_body') noteHeredoc(node, child, note)
    else if (!TRANSPARENT.has(child.type) && !UNDERSTOOD.has(child.type)) note(describe(child))
  }
}
const UNDERSTOOD = new Set(['command', 'comment', 'heredoc_start', 'heredoc_end', 'file_descriptor'])

/** The command's words; whatever else hangs on it (assignments, redirections) is noted. */
function commandWords(command: Node, note: (what: string) => void): (string | undefined)[] {
  const words: (string | undefined)[] = []
  for (const child of command.children) {
    if (!child) continue
    if (child.type === 'file_redirect') noteRedirect(child, note)
    else if (child.type === 'variable_assignment' || !child.isNamed || child.type.endsWith('redirect'))
      note(describe(child))
    else {
      const word = staticWord(child)
      if (word === undefined) note(`${JSON.stringify(shorten(child.text))} is only known when it runs`)
      words.push(word)
    }
  }
  return words
}

/** Output thrown away or joined to another stream changes no file; every other redirection might. */
function noteRedirect(redirect: Node, note: (what: string) => void): void {
  const text = redirect.text.replaceAll(/\s/g, '')
  if (!/^(\d?>>?|&>>?)\/dev\/null$|^\d?>&[12]$|^\d?<\/dev\/null$/.test(text))
    note(`it redirects (${shorten(redirect.text)})`)
}

/**
 * A here-document is data when its word is quoted or nothing in it can expand, and when it ends where a
 * shell would end it: the grammar is laxer there, and what follows the end is run.
 */
function noteHeredoc(redirect: Node, body: Node, note: (what: string) => void): void {
  const find = (type: string) => redirect.namedChildren.find((child) => child?.type === type)
  const [, quote = '', word = ''] = /^(['"]?)(\w+)\1$/.exec(find('heredoc_start')?.text ?? '') ?? []
  const end = find('heredoc_end')
  const stripsTabs = redirect.children.some((child) => child?.type === '<<-')
  const isEnd = (line: string) => (stripsTabs ? line.replace(/^\t+/, '') : line) === word
  const endsWell = end?.text === word && (end.startPosition.column === 0 || stripsTabs)
  if (word === '' || !endsWell || body.text.split('\n').some(isEnd))
    note('it holds a here-document whose end is unclear')
  else if (quote === '' && /[$`\\]/.test(body.text)) note('it holds a here-document that expands')
}

const NAMES: Record<string, string> = {
  variable_assignment: 'sets a variable',
  variable_assignments: 'sets variables',
  declaration_command: 'declares or exports a variable',
  unset_command: 'unsets a variable',
  function_definition: 'defines a function',
  if_statement: 'holds an "if"',
  while_statement: 'holds a loop',
  for_statement: 'holds a loop',
  c_style_for_statement: 'holds a loop',
  case_statement: 'holds a "case"',
  test_command: 'holds a test',
  herestring_redirect: 'redirects (a here-string)',
  heredoc_redirect: 'redirects (a here-document)',
  ERROR: 'holds a part that is no shell text',
}

function describe(node: Node): string {
  const name = NAMES[node.type]
  return name === undefined
    ? `it holds ${JSON.stringify(shorten(node.text))} (${node.type.replaceAll('_', ' ')})`
    : `it ${name}`
}

function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`
}
