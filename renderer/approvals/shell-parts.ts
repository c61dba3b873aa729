/**
 * Tells the parts of shell text apart for the eye: programs, arguments, separators, redirections,
 * substitutions. This is drawing, not judging: no verdict depends on it (the host reads commands
 * with a real grammar). What it promises is that the parts put together are exactly the text.
 */

export type ShellPartKind =
  | 'program'
  | 'argument'
  | 'separator'
  | 'redirection'
  | 'substitution'
  | 'assignment'
  | 'keyword'
  | 'comment'
  | 'heredoc'
  | 'space'

export interface ShellPart {
  kind: ShellPartKind
  start: number
  end: number
}

/** One program with its arguments, as written; words with expansions keep their source text. */
export interface SimpleCommand {
  words: string[]
  /** It reads what the command before it writes. */
  piped: boolean
}

export interface ShellReading {
  parts: ShellPart[]
  commands: SimpleCommand[]
}

const KEYWORDS = new Set(
  'if then else elif fi for while until do done case esac in function select coproc time ! { } [[ ]]'.split(' '),
)
/** Keywords after which the next word is a name, not a program. */
const NAMING = new Set(['for', 'case', 'in', 'function', 'select', '[['])
const OPERATOR = /^(?:&&|\|\||;;&|;;|;&|\|&|[;&|()\n])/
const REDIRECTION = /^(?:\d*(?:<<<|<<-|<<|<>|<&|>>|>&|>\||[<>])|&>>|&>)/
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/
const BLANK = /^(?:[ \t]|\\\n)+/
/** Blanks of the shell, not of JavaScript: a no-break space or a byte order mark is part of a word. */
const WORD_END = /[ \t\n;&|()]/
/** Runs without any special character, so that long text is not read letter by letter. */
const PLAIN_IN_WORD = /[^ \t\n;&|()<>\\'"`$]+/y
const PLAIN_IN_QUOTES = /[^"\\`$]+/y

/** Reads the whole text; unfinished quotes and substitutions run to its end. */
export function readShellText(text: string): ShellReading {
  const reader = new ShellReader(text)
  reader.readList(null)
  return { parts: reader.parts, commands: reader.commands.filter((command) => command.words.length > 0) }
}

/** An argv as parts of its quoted line: one program, everything else arguments. */
export function readQuotedLine(line: string, programLength: number): ShellPart[] {
  const parts: ShellPart[] = [{ kind: 'program', start: 0, end: programLength }]
  if (line.length > programLength) parts.push({ kind: 'argument', start: programLength, end: line.length })
  return parts
}

interface Heredoc {
  delimiter: string
  stripsTabs: boolean
}

class ShellReader {
  readonly parts: ShellPart[] = []
  readonly commands: SimpleCommand[] = []
  private at = 0
  private heredocs: Heredoc[] = []

  constructor(private readonly text: string) {}

  /** Reads until the text, or the `closer` of the substitution around it, ends. */
  readList(closer: ')' | '`' | null): void {
    let command: SimpleCommand = this.openCommand(false)
    let expects: 'program' | 'argument' | 'name' = 'program'
    let depth = 0
    while (this.at < this.text.length) {
      const rest = this.text.slice(this.at, this.at + 64)
      const next = rest[0]
      if (next === closer && depth === 0) return

      const blank = BLANK.exec(rest)
      const redirection = REDIRECTION.exec(rest)
      const operator = redirection ? null : OPERATOR.exec(rest)
      if (blank) this.push('space', blank[0].length)
      else if (next === '#' && this.atWordStart()) this.push('comment', this.lengthToLineEnd())
      else if (redirection && !/^\d*[<>]\($/.test(redirection[0] + (rest[redirection[0].length] ?? '')))
        this.readRedirection(redirection[0])
      else if (operator) {
        if (next === '(') depth += 1
        if (next === ')') depth = Math.max(0, depth - 1)
        this.push('separator', operator[0].length)
        if (next === '\n') this.readHeredocs()
        command = this.openCommand(operator[0] === '|' || operator[0] === '|&')
        expects = 'program'
      } else if (expects === 'program' && this.keywordAt() !== null) {
        const keyword = this.keywordAt() ?? ''
        this.push('keyword', keyword.length)
        if (NAMING.has(keyword)) expects = 'name'
      } else if (expects === 'program' && ASSIGNMENT.test(rest)) {
        this.readWord('assignment', closer)
      } else {
        const kind = expects === 'program' ? 'program' : 'argument'
        const word = this.readWord(kind, closer)
        if (expects !== 'name') command.words.push(word)
        expects = expects === 'name' ? 'name' : 'argument'
      }
    }
  }

  private openCommand(piped: boolean): SimpleCommand {
    const command: SimpleCommand = { words: [], piped }
    this.commands.push(command)
    return command
  }

  private push(kind: ShellPartKind, length: number): void {
    const last = this.parts.at(-1)
    if (last && last.kind === kind && last.end === this.at && kind !== 'separator') last.end += length
    else if (length > 0) this.parts.push({ kind, start: this.at, end: this.at + length })
    this.at += length
  }

  private atWordStart(): boolean {
    return this.at === 0 || WORD_END.test(this.text[this.at - 1] ?? '')
  }

  private lengthToLineEnd(): number {
    const end = this.text.indexOf('\n', this.at)
    return (end < 0 ? this.text.length : end) - this.at
  }

  private keywordAt(): string | null {
    const match = /^[^ \t\n;&|()<>"'\\$`]+/.exec(this.text.slice(this.at, this.at + 16))
    return match && KEYWORDS.has(match[0]) ? match[0] : null
  }

  private readRedirection(operator: string): void {
    this.push('redirection', operator.length)
    const blank = BLANK.exec(this.text.slice(this.at, this.at + 64))
    if (blank) this.push('space', blank[0].length)
    const word = this.readWord('redirection', null)
    if (/<<-?$/.test(operator) && word !== '')
      this.heredocs.push({ delimiter: unquote(word), stripsTabs: operator.endsWith('-') })
  }

  /** Bodies follow the line that announced them; the delimiter line belongs to the body. */
  private readHeredocs(): void {
    for (const { delimiter, stripsTabs } of this.heredocs.splice(0)) {
      let end = this.at
      while (end < this.text.length) {
        const lineEnd = this.text.indexOf('\n', end)
        const stop = lineEnd < 0 ? this.text.length : lineEnd
        const line = this.text.slice(end, stop)
        end = lineEnd < 0 ? stop : stop + 1
        if ((stripsTabs ? line.replace(/^\t+/, '') : line) === delimiter) break
      }
      this.push('heredoc', end - this.at)
    }
  }

  /** Reads one word with its quotes and substitutions; returns its source text. */
  private readWord(kind: ShellPartKind, closer: string | null): string {
    const start = this.at
    while (this.at < this.text.length) {
      const character = this.text[this.at] ?? ''
      if (WORD_END.test(character) || character === closer) break
      if ((character === '<' || character === '>') && this.text[this.at + 1] !== '(') break
      if (character === '\\') this.push(kind, Math.min(2, this.text.length - this.at))
      else if (character === "'") this.push(kind, this.quotedLength("'", this.at + 1))
      else if (character === '"') this.readDoubleQuotes(kind)
      else if (!this.readSubstitution(kind)) this.push(kind, this.runLength(PLAIN_IN_WORD))
    }
    if (this.at === start) this.push(kind, Math.min(1, this.text.length - this.at))
    return this.text.slice(start, this.at)
  }

  private quotedLength(quote: string, from: number): number {
    const end = this.text.indexOf(quote, from)
    return (end < 0 ? this.text.length : end + 1) - this.at
  }

  private readDoubleQuotes(kind: ShellPartKind): void {
    this.push(kind, 1)
    while (this.at < this.text.length) {
      const character = this.text[this.at]
      if (character === '"') return this.push(kind, 1)
      if (character === '\\') this.push(kind, Math.min(2, this.text.length - this.at))
      else if (!this.readSubstitution(kind)) this.push(kind, this.runLength(PLAIN_IN_QUOTES))
    }
  }

  /** At least one character. */
  private runLength(run: RegExp): number {
    run.lastIndex = this.at
    return run.exec(this.text)?.[0].length ?? 1
  }

  /** `$(…)`, backquotes, `<(…)`, `${…}`, `$name`. False when none begins here. */
  private readSubstitution(kind: ShellPartKind): boolean {
    const rest = this.text.slice(this.at, this.at + 64)
    const arithmetic = rest.startsWith('$((')
    if (!arithmetic && /^(?:\$|<|>)\(/.test(rest)) {
      this.readNested(2, ')')
      return true
    }
    if (rest.startsWith('`')) {
      this.readNested(1, '`')
      return true
    }
    if (rest.startsWith("$'")) {
      const body = /^\$'(?:[^'\\]|\\[^])*'?/.exec(this.text.slice(this.at))
      this.push(kind, body?.[0].length ?? 2)
      return true
    }
    if (arithmetic) this.push('substitution', this.balancedLength('((', '))'))
    else if (rest.startsWith('${')) this.push('substitution', this.balancedLength('{', '}'))
    else {
      const name = /^\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])/.exec(rest)
      if (!name) return false
      this.push('substitution', name[0].length)
    }
    return true
  }

  private readNested(openLength: number, closer: ')' | '`'): void {
    this.push('substitution', openLength)
    this.readList(closer)
    if (this.at < this.text.length) this.push('substitution', 1)
  }

  private balancedLength(open: string, close: string): number {
    let depth = 0
    for (let at = this.at + 1; at < this.text.length; at++) {
      if (this.text.startsWith(open, at)) {
        depth += 1
        at += open.length - 1
      } else if (this.text.startsWith(close, at)) {
        depth -= 1
        at += close.length - 1
        if (depth === 0) return at + 1 - this.at
      }
    }
    return this.text.length - this.at
  }
}

/** A word without its quotes; expansions stay as written. */
export function unquote(word: string): string {
  return word.replaceAll(/\\([^])|'([^']*)'|"((?:[^"\\]|\\[^])*)"/g, (_all, escaped, single, double) =>
    String(escaped ?? single ?? (double as string).replaceAll(/\\(["\\$`])/g, '$1')),
  )
}
