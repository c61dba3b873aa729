import type { Node } from 'web-tree-sitter'

/** Unquoted characters that no shell expands, wherever they stand in a word. */
const PLAIN = /^[\p{L}\p{M}\p{N}_./:@%+,=-]$/u
/** Unquoted characters that are themselves except at the start of a word (`~`, `!`, `^`) or after one (`#`). */
const PLAIN_INSIDE = /^[~^!#]$/
/** What an unquoted variable may hold so that no shell splits it or takes it for a pattern. */
const UNSPLIT = /^[\w@%+:,./-]+$/
const VARIABLE = /^(\s*)\$(?:\{([A-Za-z_]\w*|\d)\}|([A-Za-z_]\w*|\d))$/
/** More possible values for one word than this are as good as not knowing it. */
const MOST_VALUES = 16

/** Every value that a variable may have where it stands; undefined when only running could tell. */
export type Lookup = (name: string) => readonly string[] | undefined

const UNKNOWN: Lookup = () => undefined

/**
 * What a word is at run time, when that can be told without running anything: quotes removed, escapes
 * resolved. `undefined` for every word with an expansion, a substitution, a glob, a brace or a tilde.
 */
export function staticWord(node: Node): string | undefined {
  return possibleWords(node, UNKNOWN)?.[0]
}

/** Every text that a word can be at run time, with variables that have known values put in; undefined as above. */
export function possibleWords(node: Node, lookup: Lookup): readonly string[] | undefined {
  return new WordReader(lookup, true).values(node)
}

/** The same for the value of an assignment, which no shell splits. */
export function possibleValues(node: Node, lookup: Lookup): readonly string[] | undefined {
  return new WordReader(lookup, false).values(node)
}

class WordReader {
  constructor(
    private readonly lookup: Lookup,
    private readonly isSplit: boolean,
  ) {}

  values(node: Node, isFirst = true): readonly string[] | undefined {
    switch (node.type) {
      case 'word':
      case 'number':
        return node.namedChildCount === 0 ? one(readUnquoted(node.text, isFirst)) : undefined
      case 'raw_string':
        return [node.text.slice(1, -1)]
      case 'string':
        return this.quoted(node)
      case 'ansi_c_string':
        return one(readAnsiC(node.text.slice(2, -1)))
      case 'concatenation':
        return this.joined(node)
      case 'simple_expansion':
      case 'expansion': {
        const next = node.nextSibling
        const values = this.variable(node, next?.startIndex === node.endIndex ? next.text : '')
        return this.isSplit && !values?.every((value) => UNSPLIT.test(value)) ? undefined : values
      }
      case 'command_name': {
        const inner = node.namedChildCount === 1 ? node.namedChild(0) : null
        return inner ? this.values(inner) : undefined
      }
      default:
        return undefined
    }
  }

  private joined(node: Node): readonly string[] | undefined {
    if (!isUnbroken(node)) return undefined
    let texts: readonly string[] | undefined = ['']
    // Anonymous children (a bare "$", a brace) are parts of the word that no named child stands for.
    for (const child of node.children)
      texts = product(texts, child?.isNamed ? this.values(child, texts?.[0] === '') : undefined)
    return texts
  }

  private quoted(node: Node): readonly string[] | undefined {
    const expansions = node.namedChildren.filter((child) => child?.type !== 'string_content')
    let texts: readonly string[] | undefined = ['']
    let at = 1
    const body = node.text
    for (const child of expansions) {
      if (!child) return undefined
      const start = child.startIndex - node.startIndex
      const end = child.endIndex - node.startIndex
      texts = product(texts, one(readQuoted(body.slice(at, start))))
      texts = product(texts, this.variable(child, body.slice(end)))
      at = end
    }
    return product(texts, one(readQuoted(body.slice(at, -1))))
  }

  /** @param behind what follows at once: zsh takes `$x:h` and `$x[1]` for more than the variable */
  private variable(node: Node, behind: string): readonly string[] | undefined {
    // The grammar takes blanks in front of it, inside of quotes, for a part of it.
    const [, blanks = '', braced, bare] = VARIABLE.exec(node.text) ?? []
    const name = braced ?? bare
    if (name === undefined || (braced === undefined && /^[:[]/.test(behind))) return undefined
    return this.lookup(name)?.map((value) => blanks + value)
  }
}

/** Whether its parts follow each other at once; what is one word for the grammar may be several for a shell. */
export function isUnbroken(node: Node): boolean {
  return node.children.every((child, i, all) => i === 0 || child?.startIndex === all[i - 1]?.endIndex)
}

const one = (text: string | undefined): string[] | undefined => (text === undefined ? undefined : [text])

function product(before: readonly string[] | undefined, next: readonly string[] | undefined): string[] | undefined {
  if (!before || !next || before.length * next.length > MOST_VALUES) return undefined
  return before.flatMap((text) => next.map((more) => text + more))
}

function readUnquoted(text: string, isStart = true): string | undefined {
  // A leading "=" is looked up as a program by zsh.
  if (isStart && text.startsWith('=')) return undefined
  let word = ''
  const characters = [...text]
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i]!
    if (character === '\\') {
      const next = characters[++i]
      if (next === undefined) return undefined
      if (next !== '\n') word += next
    } else if (PLAIN.test(character) || (PLAIN_INSIDE.test(character) && isInside(characters, i, isStart)))
      word += character
    else return undefined
  }
  return word
}

/** Whether the character neither begins the word nor follows `:` or `=`, where a tilde would be expanded. */
function isInside(characters: string[], at: number, isStart: boolean): boolean {
  if (at === 0) return !isStart
  const before = characters[at - 1]!
  return before !== ':' && before !== '='
}

/** A piece of what stands between double quotes; undefined when something in it expands. */
function readQuoted(body: string): string | undefined {
  let text = ''
  for (let i = 0; i < body.length; i++) {
    const character = body[i]!
    if (character === '$' || character === '`') return undefined
    if (character !== '\\') {
      text += character
      continue
    }
    const next = body[++i]
    if (next === undefined) return undefined
    if (next === '\n') continue
    text += '\\"$`'.includes(next) ? next : `\\${next}`
  }
  return text
}

const ANSI_ESCAPES: Record<string, string> = {
  a: '\u0007',
  b: '\b',
  e: '\u001b',
  E: '\u001b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  '?': '?',
}

/**
 * `$'…'`; undefined for what depends on the locale or ends the word early (bytes above 0x7f, NUL, `\c`), and for a quote
 * in it, where shells that do not know it end it.
 */
function readAnsiC(body: string): string | undefined {
  let text = ''
  for (let i = 0; i < body.length; i++) {
    if (body[i] !== '\\') {
      text += body[i]!
      continue
    }
    const rest = body.slice(i + 1)
    if (rest[0] === "'") return undefined
    const simple = ANSI_ESCAPES[rest[0] ?? '']
    if (simple !== undefined) {
      text += simple
      i += 1
      continue
    }
    const numeric = /^(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8}))/.exec(rest)
    if (!numeric) return undefined
    const [whole, hex, octal, short, long] = numeric
    const code = octal === undefined ? parseInt(hex ?? short ?? long ?? '', 16) : parseInt(octal, 8)
    const isByte = hex !== undefined || octal !== undefined
    if (code === 0 || code > 0x10ffff || (isByte && code > 0x7f)) return undefined
    text += String.fromCodePoint(code)
    i += whole.length
  }
  return text
}
