import type { Node } from 'web-tree-sitter'
import { backquotedIn, otherwiseRead } from './backquotes.ts'
import { linesOf } from './command-lines.ts'
import { describe, shorten } from './describe-node.ts'
import type { Effort } from './effort.ts'
import { isCommandVariable } from './harmless-environment.ts'
import { isHarmlessPart } from './harmless-word.ts'
import { HEREDOC_PARTS, noteHeredoc } from './here-document.ts'
import type { ReadText } from './read-text.ts'
import { isHarmlessAssignment, readAssignment } from './shell-assignment.ts'
import { alwaysOpens, mayFailToOpen } from './shell-redirect.ts'
import { ShellState } from './shell-state.ts'
import { isPlainTest } from './shell-test.ts'
import {
  changesShell,
  isHookName,
  isPlainFunctionName,
  isPlainJump,
  isShellVariable,
  leavesBlock,
} from './shell-variables.ts'
import { isUnbroken, possibleValues, possibleWords, staticWord, type Lookup } from './shell-word.ts'

const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s
/** Tokens between and around commands that change nothing about what is run. */
const SEPARATORS = new Set(['&&', '||', ';', ';;', '|', '|&', '\n', '(', ')', '{', '}', '!'])
const KEYWORDS = new Set([
  'if',
  'then',
  'elif',
  'else',
  'fi',
  'while',
  'until',
  'do',
  'done',
  'for',
  'in',
  'case',
  'esac',
])
/** What a node takes to be followed, in units of effort. */
const NODE_EFFORT = 10
/** Deeper nesting, more nodes and more calls than this are not followed one by one. */
const DEEPEST = 60
const MOST_NODES = 30_000
const DEEPEST_CALL = 8
const MOST_CALLS = 200
/** Times around a loop until everything is known that it does to variables. */
const MOST_ROUNDS = 4

/**
 * Follows a text as a shell would run it, with every variable and function that is known on the way: both ways
 * of a condition, loops until nothing new comes of them, functions where they are called. What cannot be followed
 * is noted, and the commands in it are found all the same.
 */
export class ShellWalk {
  /** States in which a `break`, `return` or something unknown may have left what is around it. */
  private readonly left: ShellState[] = []
  private readonly called = new Set<number>()
  private readonly defined = new Map<number, Node>()
  private readonly found = new Set<string>()
  private nodes = 0
  private calls = 0
  private callDepth = 0

  constructor(
    private readonly text: string,
    private readonly read: ReadText,
    private readonly note: (what: string) => void,
    private readonly effort: Effort,
  ) {}

  from(root: Node): void {
    const end = this.run(root, ShellState.EMPTY, 0)
    // Nobody calls them here; whoever does gives them arguments that are not known.
    for (const [id, body] of this.defined) if (!this.called.has(id)) this.run(body, end.forgotten().called([]), 1)
  }

  private run(node: Node, state: ShellState, depth: number): ShellState {
    if (depth > DEEPEST || ++this.nodes > MOST_NODES || !this.effort.spend(NODE_EFFORT)) {
      this.note('it is nested too deep or too long to be followed')
      return this.unfollowed(node, state, depth)
    }
    switch (node.type) {
      case 'comment':
        return state
      case 'command':
        return this.runCommand(node, state, depth)
      case 'program':
      case 'compound_statement':
      case 'do_group':
      case 'else_clause':
        return this.runAll(node, node.children, state, depth)
      case 'subshell':
        this.runAll(node, node.children, state, depth)
        return state
      case 'negated_command':
        // A pattern for shells of the Korn kind.
        if (node.text.startsWith('!(')) this.note('it holds "!(", which some shells take for a pattern')
        return this.runAll(node, node.children, state, depth)
      case 'list':
        return this.runList(node, state, depth)
      case 'pipeline':
        return this.runPipeline(node, state, depth)
      case 'redirected_statement':
        return this.runRedirected(node, state, depth)
      case 'if_statement':
        return this.runIf(node, state, depth)
      case 'while_statement':
        return this.loop(state, (before) => this.runWhile(node, before, depth))
      case 'for_statement':
        return this.runFor(node, state, depth)
      case 'case_statement':
        return this.runCase(node, state, depth)
      case 'function_definition':
        return this.define(node, state, depth)
      case 'variable_assignment':
        return this.assign(node, state, state, depth)
      case 'variable_assignments':
        // Shells differ in whether one of them already sees the one before it.
        return node.namedChildren.reduce(
          (now, child) => (child ? this.assign(child, now, now.join(state), depth) : now),
          state,
        )
      case 'test_command':
        return this.runTest(node, state, depth)
      default:
        this.note(describe(node))
        return this.unfollowed(node, state, depth)
    }
  }

  /** One after the other. Tokens are checked: what is not known to be harmless is noted. */
  private runAll(parent: Node, children: readonly (Node | null)[], state: ShellState, depth: number): ShellState {
    let now = state
    for (const child of children) {
      if (!child) continue
      if (child.isNamed) now = this.run(child, now, depth + 1)
      else this.checkToken(child, parent)
    }
    return now
  }

  private checkToken(token: Node, parent: Node): void {
    if (token.type === '&') this.note('it starts something in the background')
    else if (!SEPARATORS.has(token.type) && !(KEYWORDS.has(token.type) && parent.type !== 'program'))
      this.note(`it holds ${JSON.stringify(token.text)}`)
  }

  /** `a && b || c`: what stands behind an operator may be run or not. */
  private runList(list: Node, state: ShellState, depth: number): ShellState {
    const parts: Node[] = []
    let first = list
    // The grammar nests a chain to the left, one level for each link.
    while (first.type === 'list') {
      const children: Node[] = first.children.filter((child) => child !== null)
      parts.unshift(...children.slice(1))
      first = children[0]!
    }
    let now = this.run(first, state, depth + 1)
    for (const part of parts)
      if (part.isNamed) now = now.join(this.run(part, now, depth + 1))
      else this.checkToken(part, list)
    return now
  }

  /** Each part runs in a shell of its own, beside the others; in some shells the last one in this one. */
  private runPipeline(pipeline: Node, state: ShellState, depth: number): ShellState {
    const ends = [state]
    for (const child of pipeline.children)
      if (child?.isNamed) ends.push(this.run(child, state, depth + 1))
      else if (child) this.checkToken(child, pipeline)
    return joinAll(ends)
  }

  private runRedirected(node: Node, state: ShellState, depth: number): ShellState {
    let now = state
    for (const child of node.children) {
      if (!child) continue
      if (!child.isNamed) this.checkToken(child, node)
      // The shell opens files before it runs what they are for, and the grammar puts more under them than that.
      else if (child.type.endsWith('_redirect')) now = now.join(this.runRedirect(child, state.join(now), depth))
      else now = this.run(child, now, depth + 1)
    }
    this.hintBehind(node, now)
    return mayFailToOpen(node) ? now.join(state) : now
  }

  /**
   * Words behind a redirection belong to the command in front of it, or to none where `&>` is a `&` and a `>`; the
   * grammar takes them for further files.
   */
  private hintBehind(node: Node, state: ShellState): void {
    const lookup = (name: string) => state.someValuesOf(name)
    const behind = node.children
      .flatMap((child) => [
        ...(child?.childrenForFieldName('destination').slice(1) ?? []),
        ...(child?.childrenForFieldName('argument') ?? []),
      ])
      .map((word) => (word ? possibleWords(word, lookup)?.[0] : undefined))
    if (behind.length === 0) return
    let command = node.childForFieldName('body')
    while (command && command.type !== 'command') command = command.namedChildren.at(-1) ?? null
    const lines = command ? (linesOf(this.commandWords(command, state, 0, lookup)) ?? []) : []
    this.read.hints.push(behind, ...lines.map((line) => [...line, ...behind]))
  }

  private runRedirect(redirect: Node, state: ShellState, depth: number): ShellState {
    if (redirect.type === 'file_redirect') this.noteRedirect(redirect, state)
    else if (redirect.type === 'herestring_redirect') this.noteHereString(redirect)
    else if (redirect.type === 'heredoc_redirect') return this.runHeredoc(redirect, state, depth)
    else this.note(describe(redirect))
    this.runInside(redirect, state, depth)
    return state
  }

  /** The commands that follow in the line of a here-document are parts of it in the grammar. */
  private runHeredoc(redirect: Node, state: ShellState, depth: number): ShellState {
    let now = state
    for (const child of redirect.children) {
      if (!child) continue
      if (child.type === 'heredoc_body') {
        noteHeredoc(redirect, child, this.text, this.note)
        this.runInside(child, state, depth)
        this.read.inputs.push(child.text)
        this.read.hints.push(...backquotedIn(child.text))
      } else if (child.type.endsWith('_redirect')) now = now.join(this.runRedirect(child, now, depth))
      else if (child.isNamed && !HEREDOC_PARTS.has(child.type)) now = now.join(this.run(child, now, depth + 1))
      else if (!child.isNamed && !/^<<-?$/.test(child.type)) this.checkToken(child, redirect)
    }
    return now
  }

  private runIf(node: Node, state: ShellState, depth: number): ShellState {
    let condition = state
    const ends: ShellState[] = []
    let [part, hasElse]: [Node[], boolean] = [[], false]
    const children = node.children.filter((child) => child !== null)
    const isBranch = (child: Node) => child.type === 'elif_clause' || child.type === 'else_clause'
    for (const child of children) {
      if (child.type === 'then') {
        condition = this.runAll(node, part, condition, depth)
        part = []
      } else if (isBranch(child) || child.type === 'fi') {
        if (part.length > 0) ends.push(this.runAll(node, part, condition, depth))
        part = []
        if (child.type === 'elif_clause') {
          const { tested, end } = this.runElif(child, condition, depth + 1)
          condition = tested
          ends.push(end)
        } else if (child.type === 'else_clause') {
          hasElse = true
          ends.push(this.run(child, condition, depth + 1))
        }
      } else part.push(child)
    }
    if (!hasElse) ends.push(condition)
    return joinAll(ends)
  }

  private runElif(clause: Node, state: ShellState, depth: number): { tested: ShellState; end: ShellState } {
    const children = clause.children.filter((child) => child !== null)
    const then = children.findIndex(({ type }) => type === 'then')
    const tested = this.runAll(clause, children.slice(0, then + 1), state, depth)
    return { tested, end: this.runAll(clause, children.slice(then + 1), tested, depth) }
  }

  private runWhile(node: Node, state: ShellState, depth: number): ShellState {
    const children = node.children.filter((child) => child !== null)
    const body = children.filter(({ type }) => type === 'do_group')
    const tested = this.runAll(
      node,
      children.filter(({ type }) => type !== 'do_group'),
      state,
      depth,
    )
    return this.runAll(node, body, tested, depth).join(tested)
  }

  private runFor(node: Node, state: ShellState, depth: number): ShellState {
    const children = node.children.filter((child) => child !== null)
    const name = node.childForFieldName('variable')?.text ?? ''
    const body = children.filter(({ type }) => type === 'do_group')
    const words = children.filter(({ type, isNamed }) => isNamed && type !== 'do_group').slice(1)
    if (children[0]?.type !== 'for' || body.length !== 1) {
      this.note(describe(node))
      return this.unfollowed(node, state, depth)
    }
    if (!isShellVariable(name)) this.note(`it holds a loop over ${name}, which programs may read`)
    for (const token of children) if (!token.isNamed) this.checkToken(token, node)
    for (const word of words) this.readHarmlessly(word, state, depth)
    const lookup = (variable: string) => state.valuesOf(variable)
    const values = words.map((word) => possibleWords(word, lookup))
    const isKnown = words.length > 0 && values.every((value) => value !== undefined)
    const known = isKnown ? values.flatMap((value) => value!) : undefined
    return this.loop(state, (before) => this.runAll(node, body, before.with(name, known), depth))
  }

  /** Around and around until nothing new is known, and with nothing known when that takes too long. */
  private loop(state: ShellState, once: (before: ShellState) => ShellState): ShellState {
    const mark = this.left.length
    let now = state
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const next = joinAll([now, once(now), ...this.left.slice(mark)])
      if (next.equals(now)) return now
      now = next
    }
    const unknown = now.forgotten()
    this.left.push(unknown)
    return once(unknown).forgotten()
  }

  private runCase(node: Node, state: ShellState, depth: number): ShellState {
    let now = state
    for (const child of node.children) {
      if (!child) continue
      if (child.type === 'case_item') now = now.join(this.runCaseItem(child, now, depth))
      else if (child.isNamed) this.readHarmlessly(child, state, depth)
      else this.checkToken(child, node)
    }
    return now
  }

  private runCaseItem(item: Node, state: ShellState, depth: number): ShellState {
    const children = item.children.filter((child) => child !== null)
    const end = children.findIndex(({ type }) => type === ')')
    for (const pattern of children.slice(0, end)) if (pattern.isNamed) this.readHarmlessly(pattern, state, depth)
    return this.runAll(item, children.slice(end + 1), state, depth)
  }

  private define(node: Node, state: ShellState, depth: number): ShellState {
    const name = node.childForFieldName('name')?.text ?? ''
    const body = node.childForFieldName('body')
    if (!body) {
      this.note(describe(node))
      return this.unfollowed(node, state, depth)
    }
    // Its files are opened with every call, perhaps in vain.
    const redirects = node.namedChildren.filter((child) => child?.type.endsWith('_redirect'))
    if (redirects.length > 0) this.note(describe(node))
    for (const redirect of redirects) if (redirect) this.runRedirect(redirect, state.forgotten(), depth)
    if (isHookName(name)) this.note(`it defines ${name}, which a shell calls by itself`)
    this.defined.set(body.id, body)
    // A shell that does not know the keyword reads a line with it in another way.
    const isCertain = isPlainFunctionName(name) && node.child(0)?.type !== 'function' && redirects.length === 0
    return state.withFunction(name, { body, isCertain })
  }

  private assign(node: Node, state: ShellState, seen: ShellState, depth: number): ShellState {
    this.noteCommandValue(node)
    const value = node.childForFieldName('value')
    const name = node.childForFieldName('name')?.text ?? ''
    const isPlain = node.children.some((child) => child?.type === '=') && value?.type !== 'array' && isUnbroken(node)
    if (value) this.readHarmlessly(value, state, depth)
    if (isHarmlessAssignment(node)) return state.with(name, undefined)
    if (!isPlain || !isShellVariable(name)) {
      this.note(describe(node))
      this.runInside(node, state, depth)
      return state.with(name, undefined)
    }
    return state.with(name, value ? possibleValues(value, (variable) => seen.valuesOf(variable)) : [''])
  }

  /** `[ -f x ]` and `[[ -f x ]]` start nothing, as long as their words are known and no operator is odd. */
  private runTest(node: Node, state: ShellState, depth: number): ShellState {
    if (!isPlainTest(node, (name) => state.valuesOf(name))) this.note(describe(node))
    this.runInside(node, state, depth)
    return state
  }

  private runCommand(command: Node, state: ShellState, depth: number): ShellState {
    const words = this.commandWords(command, state, depth)
    const lines = linesOf(words)
    if (!lines) this.note('it can become more commands than are looked at')
    if (words.includes(undefined)) {
      const some = this.commandWords(command, state, depth, (name) => state.someValuesOf(name))
      if (some[0]) this.read.hints.push(...(linesOf(some) ?? []))
    }
    const known = lines ?? [words.map((texts) => (texts?.length === 1 ? texts[0] : undefined))]
    const end = joinAll(known.map((line) => this.act(line, command, state, depth)))
    return mayFailToOpen(command) ? end.join(state) : end
  }

  /** What one command line does: a program, or a function of the text. */
  private act(words: (string | undefined)[], command: Node, state: ShellState, depth: number): ShellState {
    const [program, ...args] = words
    const functions = program === undefined ? [] : state.functionsOf(program)
    const isFunction = functions.length > 0 && functions.every(({ isCertain }) => isCertain)
    const ends = functions.map(({ body }) => this.call(body, args, state, depth))
    if (!isFunction) ends.push(this.actAsProgram(words, command, state, depth))
    return joinAll(ends)
  }

  private actAsProgram(words: (string | undefined)[], command: Node, state: ShellState, depth: number): ShellState {
    if (leavesBlock(words)) this.left.push(state)
    if (!isPlainJump(words) || state.functionsOf(words[0]!).length > 0) this.addCommand(words, command)
    if (!changesShell(words)) return state
    const unknown = state.forgotten()
    this.left.push(unknown)
    for (const { body } of state.allFunctions()) this.call(body, [], unknown, depth)
    return unknown
  }

  private call(body: Node, args: (string | undefined)[], state: ShellState, depth: number): ShellState {
    this.called.add(body.id)
    if (this.callDepth >= DEEPEST_CALL || ++this.calls > MOST_CALLS) {
      this.note('its functions call each other too often to be followed')
      return state.forgotten()
    }
    const mark = this.left.length
    this.callDepth += 1
    const end = this.run(body, state.called(args), depth + 1)
    this.callDepth -= 1
    return joinAll([end, ...this.left.slice(mark)]).returnedTo(state)
  }

  private addCommand(words: (string | undefined)[], { text }: Node): void {
    const key = JSON.stringify(words.map((word) => word ?? null))
    if (this.found.has(key)) return
    this.found.add(key)
    this.read.commands.push({ words, text: shorten(text) })
  }

  /** What each word of the command can be; whatever else hangs on it (assignments, redirections) is noted. */
  private commandWords(
    command: Node,
    state: ShellState,
    depth: number,
    guess?: Lookup,
  ): (readonly string[] | undefined)[] {
    const words: (readonly string[] | undefined)[] = []
    const lookup = guess ?? ((name: string) => state.valuesOf(name))
    for (const child of command.children) {
      if (!child) continue
      if (isWordOf(child)) {
        // A pair of braces is only itself.
        const texts = words.length > 0 && child.text === '{}' ? ['{}'] : possibleWords(child, lookup)
        if (!guess && (texts === undefined || texts.includes('{')))
          this.note(`${JSON.stringify(shorten(child.text))} is only known when it runs`)
        if (words.length > 0 || !isOpening(child)) words.push(texts)
        else if (!guess) this.noteOpening(texts?.[0] ?? '')
      } else if (!guess) this.noteBeside(child, state)
      if (child.isNamed && !guess) this.runInside(child, state, depth)
    }
    return words
  }

  private noteOpening(text: string): void {
    const [, name, value] = ASSIGNMENT.exec(text) ?? []
    if (name !== undefined && isCommandVariable(name)) this.read.hints.push(value!)
  }

  private noteBeside(child: Node, state: ShellState): void {
    if (child.type === 'file_redirect') this.noteRedirect(child, state)
    else if (child.type === 'herestring_redirect') this.noteHereString(child)
    else if (child.type === 'variable_assignment') {
      this.noteCommandValue(child)
      if (!isHarmlessAssignment(child)) this.note(describe(child))
    } else this.note(describe(child))
  }

  /** A word whose value does not matter: reading it must not change anything. */
  private readHarmlessly(word: Node, state: ShellState, depth: number): void {
    const stack: Node[] = [word]
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node.type === 'command_substitution') continue
      if (!isHarmlessPart(node)) this.note(describe(node))
      for (const child of node.namedChildren) if (child) stack.push(child)
    }
    this.runInside(word, state, depth)
  }

  /** What words hold: substitutions run in a shell of their own. */
  private runInside(word: Node, state: ShellState, depth: number): void {
    const stack: Node[] = [word]
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (SUBSTITUTIONS.has(node.type)) {
        this.runSubstitution(node, state, depth)
        continue
      }
      if (node.type === 'command' || node.type === 'function_definition') {
        this.unfollowed(node, state, depth)
        continue
      }
      if (node.type === 'expansion') this.read.hints.push(...backquotedIn(node.text))
      pushChildren(node, stack)
    }
  }

  private runSubstitution(node: Node, state: ShellState, depth: number): void {
    const children = node.children.filter((child) => child !== null)
    if (node.text.startsWith('`')) {
      const others = otherwiseRead(node.text.slice(1, -1))
      if (others.length > 0) this.note('a shell reads what is in its backquotes in another way')
      this.read.hints.push(...others)
    }
    const isBracket = (child: Node) => !child.isNamed && /^(\$\(|`|\)|[<>]\()$/.test(child.type)
    // `$(< file)` reads a file and runs nothing; what it reads is not known.
    const inside = children.filter((child) => !isBracket(child) && child.type !== 'file_redirect')
    for (const redirect of children) {
      if (redirect.type !== 'file_redirect') continue
      if (!isPlainInput(redirect)) this.noteRedirect(redirect, state)
      this.runInside(redirect, state, depth)
    }
    this.runAll(node, inside, state, depth + 1)
  }

  /**
   * The commands in something that is not followed as a whole, so that a denied one is found: what can be followed in
   * it is, one part after the other, with nothing known for certain.
   */
  private unfollowed(root: Node, state: ShellState, depth: number): ShellState {
    let now = state.forgotten()
    const isTooMuch = depth > DEEPEST || this.nodes > MOST_NODES || !this.effort.spend(NODE_EFFORT)
    const stack: Node[] = [root]
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node !== root && !isTooMuch && FOLLOWED.has(node.type)) {
        now = now.join(this.run(node, now, depth + 1))
        continue
      }
      if (!isTooMuch && SUBSTITUTIONS.has(node.type)) {
        this.runSubstitution(node, now, depth + 1)
        continue
      }
      if (node.type === 'command') this.addCommand(this.staticWords(node), node)
      else if (node.type === 'heredoc_body') {
        this.read.inputs.push(node.text)
        this.read.hints.push(...backquotedIn(node.text))
      } else if (node.type === 'expansion') this.read.hints.push(...backquotedIn(node.text))
      else if (node.type === 'variable_assignment') this.noteCommandValue(node)
      pushChildren(node, stack)
    }
    const unknown = now.forgotten()
    this.left.push(unknown)
    return unknown
  }

  private staticWords(command: Node): (string | undefined)[] {
    const words: (string | undefined)[] = []
    for (const child of command.namedChildren) {
      if (!child || child.type === 'variable_assignment' || child.type.endsWith('redirect')) continue
      if (words.length === 0 && isOpening(child)) continue
      words.push(staticWord(child))
    }
    return words
  }

  /** Output thrown away or joined to another stream changes no file; every other redirection might. */
  private noteRedirect(redirect: Node, state: ShellState): void {
    if (alwaysOpens(redirect)) return
    const operator = redirect.children.find((child) => child && !child.isNamed)?.type
    const target = redirect.childForFieldName('destination')
    const isLast = target !== null && redirect.namedChildren.at(-1)?.equals(target)
    const paths = isLast ? possibleWords(target, (name) => state.valuesOf(name)) : undefined
    const isFile = operator !== undefined && /^(>|>>|&>|&>>|>\|)$/.test(operator)
    // Bash opens network connections under these names.
    if (isFile && paths?.every((path) => path !== '' && !/^\/dev\/(tcp|udp|fd)\b/.test(path)))
      for (const path of paths) this.read.writes.push({ path, text: shorten(redirect.text) })
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

/** A child of a command that is one of its words. */
const isWordOf = (child: Node): boolean =>
  child.isNamed && child.type !== 'variable_assignment' && !child.type.endsWith('redirect')

/** `< file`; under some names in `/dev` bash opens network connections. */
function isPlainInput(redirect: Node): boolean {
  const target = redirect.childForFieldName('destination')
  const path = target && staticWord(target)
  return /^<[^<>&]/.test(redirect.text) && typeof path === 'string' && !path.startsWith('/dev/')
}

/** What is followed wherever it stands. */
const FOLLOWED = new Set(
  [
    'command compound_statement do_group else_clause subshell negated_command list pipeline redirected_statement',
    'if_statement while_statement for_statement case_statement function_definition variable_assignment',
    'variable_assignments test_command',
  ].flatMap((line) => line.split(' ')),
)
const SUBSTITUTIONS = new Set(['command_substitution', 'process_substitution'])

const joinAll = (states: readonly ShellState[]): ShellState => states.reduce((joined, state) => joined.join(state))

/** In `! { …; }` the grammar takes the brace for a program, and an assignment behind it for an argument. */
function isOpening({ text, previousSibling }: Node): boolean {
  if (/^(\{\s*)+$/.test(text)) return true
  return (ASSIGNMENT.test(text) || /^[{!\s]+$/.test(text)) && previousSibling !== null && isOpening(previousSibling)
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
