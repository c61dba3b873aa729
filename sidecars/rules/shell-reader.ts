import type { Node } from 'web-tree-sitter'
import { isCommandVariable, isHarmlessVariable } from './harmless-environment.ts'
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
  /** What in the text was not followed, one clause each; empty = `commands` and `writes` are all there is to it. */
  unclear: string[]
  /** Files that output goes to. */
  writes: WrittenFile[]
  /** Here-documents and here-strings: what some command gets as input. */
  inputs: string[]
  /**
   * What may be a command all the same: values of variables such as PROMPT_COMMAND, backquotes where the
   * grammar does not look into them, and every piece of a text that is not complete.
   */
  hints: string[]
}

/** One redirection of output. */
export interface WrittenFile {
  /** As it is at run time, relative to the folder of the command. */
  path: string
  /** The redirection as written. */
  text: string
}

/** Longer texts are not read: nobody writes them by hand, and time is bounded this way. */
const LONGEST_TEXT = 256 * 1024
const SHOWN_UNCLEAR = 8
const MOST_PIECES = 100
const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s

/**
 * The commands of a shell text (sh, bash, zsh). Plain commands joined by `&&`, `||`, `;`, `|` and line
 * ends are followed, with groups, subshells, negation, comments, quoted here-documents and output thrown
 * away; everything else is named in `unclear`, and commands inside it are still listed.
 */
export function readShellText(text: string, grammar: ShellGrammar): ReadText {
  if (text.length > LONGEST_TEXT) return { ...nothing(), unclear: [`it is longer than ${LONGEST_TEXT} characters`] }
  const asWritten = readOnce(text, grammar)
  // The grammar takes an escaped line end for a blank; a shell takes it for nothing, so that a word can
  // go on in the next line. Inside a comment it is neither. Both readings count.
  if (!text.includes('\\\n')) return asWritten
  const joined = readOnce(text.replaceAll('\\\n', ''), grammar)
  return {
    commands: [...asWritten.commands, ...joined.commands],
    unclear: [...new Set([...asWritten.unclear, ...joined.unclear])],
    writes: [...asWritten.writes, ...joined.writes],
    inputs: [...asWritten.inputs, ...joined.inputs],
    hints: [...asWritten.hints, ...joined.hints],
  }
}

const nothing = (): ReadText => ({ commands: [], unclear: [], writes: [], inputs: [], hints: [] })

function readOnce(text: string, grammar: ShellGrammar): ReadText {
  const read = nothing()
  const note = (what: string) => {
    if (read.unclear.length < SHOWN_UNCLEAR && !read.unclear.includes(what)) read.unclear.push(what)
  }
  const hidden = findHiddenCharacter(text)
  if (hidden !== undefined) note(`it holds the hidden character ${hidden}`)
  const followed = grammar.withTree(text, (root) => {
    if (root.hasError) {
      note('it is not complete shell text')
      read.hints.push(...piecesOf(text))
    }
    new Walk(read, note).from(root)
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

class Walk {
  constructor(
    private readonly read: ReadText,
    private readonly note: (what: string) => void,
  ) {}

  /** Visits every node with a stack of its own: agents write texts that are nested thousands deep. */
  from(root: Node): void {
    const stack: Node[] = [root]
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node.type === 'command') this.read.commands.push({ words: this.commandWords(node), text: shorten(node.text) })
      else if (TRANSPARENT.has(node.type)) this.checkChildren(node)
      else if (node.type === 'heredoc_body') {
        this.read.inputs.push(node.text)
        this.read.hints.push(...backquotedIn(node.text))
      } else if (node.type === 'expansion') this.read.hints.push(...backquotedIn(node.text))
      else if (node.type === 'variable_assignment') this.noteCommandValue(node)
      pushChildren(node, stack)
    }
  }

  private checkChildren(node: Node): void {
    for (const child of node.children) {
      if (!child) continue
      if (!child.isNamed) {
        if (child.type === '&') this.note('it starts something in the background')
        else if (!SEPARATORS.has(child.type) && !/^<<-?$/.test(child.type))
          this.note(`it holds ${JSON.stringify(child.text)}`)
      } else if (child.type === 'file_redirect') this.noteRedirect(child)
      else if (child.type === 'herestring_redirect') this.noteHereString(child)
      else if (child.type === 'heredoc_body') noteHeredoc(node, child, this.note)
      else if (!TRANSPARENT.has(child.type) && !UNDERSTOOD.has(child.type)) this.note(describe(child))
    }
  }

  /** The command's words; whatever else hangs on it (assignments, redirections) is noted. */
  private commandWords(command: Node): (string | undefined)[] {
    const words: (string | undefined)[] = []
    for (const child of command.children) {
      if (!child) continue
      if (child.type === 'file_redirect') this.noteRedirect(child)
      else if (child.type === 'herestring_redirect') this.noteHereString(child)
      else if (child.type === 'variable_assignment') {
        if (!isHarmlessAssignment(child)) this.note(describe(child))
      } else if (!child.isNamed || child.type.endsWith('redirect')) this.note(describe(child))
      else {
        // A pair of braces is only itself.
        const word = words.length > 0 && child.text === '{}' ? '{}' : staticWord(child)
        if (word === undefined || word === '{')
          this.note(`${JSON.stringify(shorten(child.text))} is only known when it runs`)
        if (words.length === 0 && isOpening(child)) {
          const [, name, value] = ASSIGNMENT.exec(word ?? '') ?? []
          if (name !== undefined && isCommandVariable(name)) this.read.hints.push(value!)
          continue
        }
        words.push(word)
      }
    }
    return words
  }

  /** Output thrown away or joined to another stream changes no file; every other redirection might. */
  private noteRedirect(redirect: Node): void {
    const text = redirect.text.replaceAll(/\s/g, '')
    if (/^(\d?>>?|&>>?)\/dev\/null$|^\d?>&[12]$|^\d?<\/dev\/null$/.test(text)) return
    const operator = redirect.children.find((child) => child && !child.isNamed)?.type
    const target = redirect.childForFieldName('destination')
    const path = target && redirect.namedChildren.at(-1)?.equals(target) ? staticWord(target) : undefined
    const isFile = operator !== undefined && /^(>|>>|&>|&>>|>\|)$/.test(operator)
    // Bash opens network connections under these names.
    if (isFile && path !== undefined && path !== '' && !/^\/dev\/(tcp|udp|fd)\b/.test(path))
      this.read.writes.push({ path, text: shorten(redirect.text) })
    else this.note(`it redirects (${shorten(redirect.text)})`)
  }

  private noteHereString(redirect: Node): void {
    this.note(describe(redirect))
    const value = redirect.namedChildren.at(-1)
    const text = value ? staticWord(value) : undefined
    if (text !== undefined) this.read.inputs.push(text)
  }

  private noteCommandValue(assignment: Node): void {
    const [name, value] = readAssignment(assignment)
    if (value !== undefined && isCommandVariable(name)) this.read.hints.push(value)
  }
}

/** In `! { …; }` the grammar takes the brace for a program, and an assignment behind it for an argument. */
function isOpening({ text, previousSibling }: Node): boolean {
  if (/^(\{\s*)+$/.test(text)) return true
  return (ASSIGNMENT.test(text) || /^[{!\s]+$/.test(text)) && previousSibling !== null && isOpening(previousSibling)
}

/** Pieces between everything that could separate commands. A text that is a piece itself has none. */
function piecesOf(text: string): string[] {
  const pieces = text.split(/[;&|\n(){}`]+/, MOST_PIECES).map((piece) => piece.trim())
  return pieces.length < 2 ? [] : [...new Set(pieces)].filter((piece) => piece !== '')
}

const backquotedIn = (text: string): string[] =>
  text.includes('`') ? [...text.matchAll(/`((?:[^`\\]|\\.)+)`/g)].slice(0, MOST_PIECES).map(([, inner]) => inner!) : []

function readAssignment(assignment: Node): [name: string, value: string | undefined] {
  const value = assignment.childForFieldName('value')
  const isPlain = assignment.children.some((child) => child?.type === '=')
  const text = value ? staticWord(value) : ''
  return [assignment.childForFieldName('name')?.text ?? '', isPlain ? text : undefined]
}

function isHarmlessAssignment(assignment: Node): boolean {
  const [name, value] = readAssignment(assignment)
  return value !== undefined && isHarmlessVariable(name, value)
}

/** Kinds of node that hold no command, so that nothing is asked of the parser about them. */
const LEAVES = new Set(['word', 'number', 'raw_string', 'command_name', 'comment', 'variable_name', 'file_descriptor'])

/** Last child first onto the stack, so that commands come out in the order of the text. */
function pushChildren(node: Node, stack: Node[]): void {
  const children = node.namedChildren
  for (let i = children.length - 1; i >= 0; i--) {
    const child = children[i]
    if (child && (!LEAVES.has(child.type) || (child.type !== 'comment' && child.namedChildCount > 0))) stack.push(child)
  }
}
const UNDERSTOOD = new Set(['command', 'comment', 'heredoc_start', 'heredoc_end', 'file_descriptor'])

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
