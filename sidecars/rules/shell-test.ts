import type { Node } from 'web-tree-sitter'
import { possibleWords, type Lookup } from './shell-word.ts'

/** Look at one file or text. `-v` and `-R` are not among them: they evaluate what they are given. */
const UNARY = /^-[bcdefghkLnNOprsSuwxzGt]$/
const BINARY = /^(=|==|!=|-nt|-ot|-ef)$/
/** In double brackets these evaluate their operands, which must be numbers then. */
const NUMERIC = /^-(eq|ne|lt|le|gt|ge)$/
const NUMBER = /^-?\d+$/

/**
 * Whether a test of a shell (`[ … ]`, `[[ … ]]`) can do nothing but look: its words are known, and its operators
 * mean the same to every shell. `[[ a > b ]]` and `[[ a && b ]]` are no tests for a shell without `[[`: there they
 * write a file and run a program.
 */
export function isPlainTest(test: Node, lookup: Lookup): boolean {
  const [open, expression, close, ...rest] = test.children.filter((child) => child !== null)
  const isBracketed = (open?.type === '[' && close?.type === ']') || (open?.type === '[[' && close?.type === ']]')
  return isBracketed && rest.length === 0 && expression !== undefined && isPlain(expression, lookup, true)
}

function isPlain(expression: Node, lookup: Lookup, mayNegate: boolean): boolean {
  const children = expression.children.filter((child) => child !== null)
  if (expression.type === 'unary_expression') {
    const [operator, operand] = children
    if (!operator || !operand || children.length !== 2) return false
    if (operator.type === '!') return mayNegate && isPlain(operand, lookup, false)
    return UNARY.test(operator.text) && isKnown(operand, lookup)
  }
  if (expression.type === 'binary_expression') {
    const [left, operator, right] = children
    if (!left || !operator || !right || children.length !== 3) return false
    if (NUMERIC.test(operator.text))
      return [left, right].every((operand) => valuesOf(operand, lookup)?.every((value) => NUMBER.test(value)))
    return BINARY.test(operator.text) && isKnown(left, lookup) && isKnown(right, lookup)
  }
  return isKnown(expression, lookup)
}

const isKnown = (operand: Node, lookup: Lookup): boolean => valuesOf(operand, lookup) !== undefined

/** The right side of `==` is a node of its own kind, also when it is only a word. */
const valuesOf = (operand: Node, lookup: Lookup): readonly string[] | undefined =>
  operand.type === 'extglob_pattern' && /^[\w./-]+$/.test(operand.text)
    ? [operand.text]
    : possibleWords(operand, lookup)
