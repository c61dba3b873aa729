import type { Node } from 'web-tree-sitter'

/** Unquoted characters that no shell expands, wherever they stand in a word. */
const PLAIN = /^[\p{L}\p{M}\p{N}_./:@%+,=-]$/u
/** Unquoted characters that are themselves except at the start of a word (`~`, `!`, `^`) or after one (`#`). */
const PLAIN_INSIDE = /^[~^!#]$/

/**
 * What a word is at run time, when that can be told without running anything: quotes removed, escapes
 * resolved. `undefined` for every word with an expansion, a substitution, a glob, a brace or a tilde.
 */
export function staticWord(node: Node): string | undefined {
  switch (node.type) {
    case 'word':
    case 'number':
      return node.namedChildCount === 0 ? readUnquoted(node.text) : undefined
    case 'raw_string':
      return node.text.slice(1, -1)
    case 'string':
      return readDoubleQuoted(node)
    case 'ansi_c_string':
      return readAnsiC(node.text.slice(2, -1))
    case 'concatenation':
      return joinParts(node)
    case 'command_name': {
      const inner = node.namedChildCount === 1 ? node.namedChild(0) : null
      return inner ? staticWord(inner) : undefined
    }
    default:
      return undefined
  }
}

function joinParts(node: Node): string | undefined {
  let text = ''
  // Anonymous children (a bare "$", a brace) are parts of the word that no named child stands for.
  for (const child of node.children) {
    const part = child?.isNamed ? staticPart(child, text === '') : undefined
    if (part === undefined) return undefined
    text += part
  }
  return text
}

const staticPart = (node: Node, isFirst: boolean): string | undefined =>
  node.type === 'word' ? readUnquoted(node.text, isFirst) : staticWord(node)

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

function readDoubleQuoted(node: Node): string | undefined {
  for (const child of node.namedChildren) if (child?.type !== 'string_content') return undefined
  const body = node.text.slice(1, -1)
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
  "'": "'",
  '"': '"',
  '?': '?',
}

/** `$'…'`; undefined for what depends on the locale or ends the word early (bytes above 0x7f, NUL, `\c`). */
function readAnsiC(body: string): string | undefined {
  let text = ''
  for (let i = 0; i < body.length; i++) {
    if (body[i] !== '\\') {
      text += body[i]!
      continue
    }
    const rest = body.slice(i + 1)
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
