/**
 * Values in hooks: plain text and `literal:x` mean exactly that text, `pattern:x` is a glob with `*`, `?`,
 * `[…]`, `{a,b}` and backslash escapes.
 */

export interface ValuePattern {
  kind: 'literal' | 'glob'
  /** The text without its prefix. */
  text: string
  /** Whole-value match. */
  matches(value: string): boolean
}

/** A pattern that cannot be read; the message says what is wrong with it. */
export class InvalidValuePattern extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'InvalidValuePattern'
  }
}

/**
 * Reads one value. With `pathLike` a single `*`, `?` or set never crosses a slash, and `**` does.
 * @throws InvalidValuePattern
 */
export function parseValuePattern(source: string, pathLike = false): ValuePattern {
  if (source.startsWith('pattern:')) {
    const text = source.slice('pattern:'.length)
    const expression = globExpression(text, pathLike)
    return { kind: 'glob', text, matches: (value) => expression.test(value) }
  }
  const text = source.startsWith('literal:') ? source.slice('literal:'.length) : source
  return { kind: 'literal', text, matches: (value) => value === text }
}

function globExpression(glob: string, pathLike: boolean): RegExp {
  const any = pathLike ? '[^/]' : '[\\s\\S]'
  let out = ''
  let depth = 0
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at]!
    switch (char) {
      case '\\':
        at++
        if (at >= glob.length) throw new InvalidValuePattern('a backslash at the end escapes nothing')
        out += escaped(glob[at]!)
        break
      case '*':
        if (glob[at + 1] === '*') {
          while (glob[at + 1] === '*') at++
          out += '[\\s\\S]*'
        } else out += `${any}*`
        break
      case '?':
        out += any
        break
      case '[': {
        const end = glob.indexOf(']', at + 2)
        if (end < 0) throw new InvalidValuePattern('a [ without its ]; write \\[ for the character')
        out += set(glob.slice(at + 1, end), pathLike)
        at = end
        break
      }
      case '{':
        depth++
        out += '(?:'
        break
      case '}':
        if (depth === 0) throw new InvalidValuePattern('a } without its {; write \\} for the character')
        depth--
        out += ')'
        break
      case ',':
        out += depth > 0 ? '|' : ','
        break
      default:
        out += escaped(char)
    }
  }
  if (depth > 0) throw new InvalidValuePattern('a { without its }; write \\{ for the character')
  return new RegExp(`^${out}$`, 'u')
}

function set(body: string, pathLike: boolean): string {
  const negated = body[0] === '!' || body[0] === '^'
  const members = (negated ? body.slice(1) : body).replace(/[\\\]^[]/g, '\\$&')
  if (members === '') throw new InvalidValuePattern('an empty [ ]')
  const expression = `${pathLike ? '(?!/)' : ''}[${negated ? '^' : ''}${members}]`
  if (!isExpression(expression)) throw new InvalidValuePattern(`[${body}] is not a set of characters`)
  return expression
}

function isExpression(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}

function escaped(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')
}
