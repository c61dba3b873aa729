/**
 * Reads the text of a rules file: a restricted reading of Starlark. Only calls with literal arguments
 * stand there (strings, whole numbers, lists of these, named arguments, comments); anything else is a
 * problem with its line. See docs/rules.md.
 */

export type Literal = { line: number } & (
  | { kind: 'string'; value: string }
  | { kind: 'number'; value: number }
  | { kind: 'list'; items: Literal[] }
)

export interface RuleCall {
  name: string
  /** Arguments without a name, in order. */
  positional: Literal[]
  named: Map<string, Literal>
  /** Line on which the call begins, counted from 1. */
  line: number
  /** Where the call stands in the file's text. */
  start: number
  end: number
  /** The call as written, without what stands around it. */
  text: string
}

export interface SyntaxProblem {
  line: number
  message: string
}

/** A file with more is not a file of rules; reading on would only take time. */
const MAX_PROBLEMS = 100

/** Reads as many calls as stand on their own; after a problem it goes on at the next line that begins one. */
export function readRuleCalls(text: string): { calls: RuleCall[]; problems: SyntaxProblem[] } {
  const reader = new Reader(text)
  const calls: RuleCall[] = []
  const problems: SyntaxProblem[] = []
  for (;;) {
    try {
      const call = reader.nextCall()
      if (!call) return { calls, problems }
      calls.push(call)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      problems.push({ line: error.line, message: error.message })
      if (problems.length === MAX_PROBLEMS) return { calls, problems }
      reader.skipToNextCall()
    }
  }
}

class Fault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

type Token =
  | { kind: 'name' | 'string' | 'mark'; value: string; line: number; start: number; end: number }
  | { kind: 'number'; value: number; line: number; start: number; end: number }
  | { kind: 'end'; value: ''; line: number; start: number; end: number }

const CALL_NAME = /^(?:prefix_rule|host_executable|network_rule)$/
const CALL_START = /^(?:prefix_rule|host_executable|network_rule)\s*\(/
const SIMPLE_ESCAPES: Record<string, string> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
}

class Reader {
  private position = 0
  private line = 1
  private ahead: Token | undefined
  private statement = { position: 0, line: 1 }

  constructor(private readonly text: string) {}

  nextCall(): RuleCall | undefined {
    const name = this.firstToken()
    if (name.kind === 'end') return undefined
    if (name.kind !== 'name') throw new Fault(name.line, `expected a call such as prefix_rule(…), found ${show(name)}`)
    const open = this.take()
    if (open.kind !== 'mark' || open.value !== '(')
      throw new Fault(
        open.line,
        `only calls with literal arguments are read here; found ${show(open)} after "${name.value}"`,
      )
    const positional: Literal[] = []
    const named = new Map<string, Literal>()
    for (;;) {
      const next = this.peek()
      if (next.kind === 'mark' && next.value === ')') break
      this.readArgument(positional, named)
      const after = this.peek()
      if (after.kind === 'mark' && after.value === ',') this.take()
      else if (after.kind === 'end' || (after.kind === 'name' && CALL_NAME.test(after.value)))
        throw new Fault(name.line, `the call of ${name.value} is not closed; a ")" is missing`)
      else if (!(after.kind === 'mark' && after.value === ')'))
        throw new Fault(after.line, `expected "," or ")" in the call of ${name.value}, found ${show(after)}`)
    }
    const close = this.take()
    const { start, line } = name
    const text = this.text.slice(start, close.end)
    return { name: name.value, positional, named, line, start, end: close.end, text }
  }

  private firstToken(): Token {
    for (;;) {
      this.skipBlanks()
      // Before the token is looked at: that may already fail.
      this.statement = { position: this.position, line: this.line }
      const token = this.take()
      if (!(token.kind === 'mark' && token.value === ';')) return token
    }
  }

  /**
   * Past the broken statement: to the first line after its own that begins a call at its first column. A
   * call that was swallowed because a bracket is missing before it is read all the same.
   */
  skipToNextCall(): void {
    this.ahead = undefined
    this.position = this.statement.position
    this.line = this.statement.line
    for (;;) {
      const lineEnd = this.text.indexOf('\n', this.position)
      if (lineEnd < 0) {
        this.position = this.text.length
        return
      }
      this.position = lineEnd + 1
      this.line += 1
      if (CALL_START.test(this.text.slice(this.position, this.position + 200))) return
    }
  }

  private readArgument(positional: Literal[], named: Map<string, Literal>): void {
    const token = this.peek()
    if (token.kind !== 'name') {
      if (named.size > 0) throw new Fault(token.line, 'an argument without a name stands after one with a name')
      positional.push(this.readLiteral())
      return
    }
    this.take()
    const equals = this.take()
    if (equals.kind !== 'mark' || equals.value !== '=')
      throw new Fault(token.line, `"${token.value}" is not a literal; only strings, numbers and lists are read here`)
    if (named.has(token.value)) throw new Fault(token.line, `the argument ${token.value} is given twice`)
    named.set(token.value, this.readLiteral())
  }

  private readLiteral(depth = 0): Literal {
    const token = this.take()
    if (token.kind === 'string') {
      const next = this.peek()
      if (next.kind === 'string') throw new Fault(next.line, 'two strings stand side by side; a comma is missing')
      return { kind: 'string', value: token.value, line: token.line }
    }
    if (token.kind === 'number') return { kind: 'number', value: token.value, line: token.line }
    if (token.kind === 'name')
      throw new Fault(token.line, `"${token.value}" is not a literal; only strings, numbers and lists are read here`)
    if (token.kind !== 'mark' || token.value !== '[')
      throw new Fault(token.line, `expected a string, a number or a list, found ${show(token)}`)
    if (depth > 4) throw new Fault(token.line, 'lists are nested too deep')
    const items: Literal[] = []
    for (;;) {
      const next = this.peek()
      if (next.kind === 'mark' && next.value === ']') break
      items.push(this.readLiteral(depth + 1))
      const after = this.peek()
      if (after.kind === 'mark' && after.value === ',') this.take()
      else if (!(after.kind === 'mark' && after.value === ']'))
        throw new Fault(after.line, `expected "," or "]" in a list, found ${show(after)}`)
    }
    this.take()
    return { kind: 'list', items, line: token.line }
  }

  private peek(): Token {
    return (this.ahead ??= this.scan())
  }

  private take(): Token {
    const token = this.peek()
    this.ahead = undefined
    return token
  }

  private scan(): Token {
    this.skipBlanks()
    const { text, line } = this
    const start = this.position
    if (start >= text.length) return { kind: 'end', value: '', line, start, end: start }
    const rest = text.slice(start, start + 200)
    const prefix = /^[rR]?(?="|')/.exec(rest)
    if (prefix) return this.scanString(prefix[0] !== '')
    const name = /^[A-Za-z_]\w*/.exec(rest)
    if (name) return this.token('name', name[0])
    const number = /^\d+(?![\w.])/.exec(rest)
    if (number) {
      this.position += number[0].length
      return { kind: 'number', value: Number(number[0]), line, start, end: this.position }
    }
    if ('()[],=;'.includes(rest[0]!)) return this.token('mark', rest[0]!)
    throw new Fault(line, `unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(start)!))}`)
  }

  private token(kind: 'name' | 'mark', value: string): Token {
    const start = this.position
    this.position += value.length
    return { kind, value, line: this.line, start, end: this.position }
  }

  private skipBlanks(): void {
    for (;;) {
      const character = this.text[this.position]
      if (character === '\n') this.line += 1
      else if (character === '#') {
        const lineEnd = this.text.indexOf('\n', this.position)
        this.position = lineEnd < 0 ? this.text.length : lineEnd
        continue
      } else if (character !== ' ' && character !== '\t' && character !== '\r') return
      this.position += 1
    }
  }

  private scanString(isRaw: boolean): Token {
    const { text, line } = this
    const start = this.position
    this.position += isRaw ? 1 : 0
    const quote = text[this.position]!
    const isTriple = text.startsWith(quote.repeat(3), this.position)
    const end = isTriple ? quote.repeat(3) : quote
    this.position += end.length
    let value = ''
    for (;;) {
      if (text.startsWith(end, this.position)) break
      const character = text[this.position]
      if (character === undefined || (character === '\n' && !isTriple))
        throw new Fault(line, 'a string is not ended in its line')
      if (character === '\\') value += this.scanEscape(isRaw)
      else {
        if (character === '\n') this.line += 1
        value += character
        this.position += 1
      }
    }
    this.position += end.length
    return { kind: 'string', value, line, start, end: this.position }
  }

  private scanEscape(isRaw: boolean): string {
    const rest = this.text.slice(this.position + 1, this.position + 10)
    const next = rest[0]
    if (next === undefined) throw new Fault(this.line, 'a string is not ended in its line')
    if (isRaw) {
      this.position += 2
      return `\\${next}`
    }
    const simple = SIMPLE_ESCAPES[next]
    if (simple !== undefined) {
      this.position += 2
      return simple
    }
    const code = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/.exec(rest)
    const point = code ? parseInt(code[1] ?? code[2] ?? code[3] ?? '', 16) : Number.NaN
    if (!code || !(point <= 0x10ffff)) throw new Fault(this.line, `unknown escape \\${next} in a string`)
    this.position += 1 + code[0].length
    return String.fromCodePoint(point)
  }
}

function show(token: Token): string {
  if (token.kind === 'end') return 'the end of the file'
  return token.kind === 'string' ? 'a string' : JSON.stringify(String(token.value))
}
