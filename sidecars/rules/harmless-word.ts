import type { Node } from 'web-tree-sitter'
import { isUnbroken } from './shell-word.ts'

/** The grammar skips blanks and line ends in some of them, where a shell ends the word and runs what follows. */
const ONE_WORD = /^(?:\\[^]|[^\s\\;&|<>()`])*$/
const A_VARIABLE = /^\s*\$(?:\w+|[@*#?$!-])$/
const A_VARIABLE_IN_BRACES = /^\s*\$\{\w+\}$/
const ANY = /^/
/** For a shell that does not know `$'…'` it ends at the first quote, also at one behind a backslash. */
const SAME_IN_ALL_SHELLS = /^\$'(?:[^\\]|\\[^'])*'$/
/** Kinds of node that a word can be made of when its value does not matter, since reading it changes nothing. */
const HARMLESS_PARTS: Readonly<Record<string, RegExp>> = {
  word: ONE_WORD,
  number: ONE_WORD,
  extglob_pattern: ONE_WORD,
  variable_name: ANY,
  special_variable_name: ANY,
  simple_expansion: A_VARIABLE,
  expansion: A_VARIABLE_IN_BRACES,
  raw_string: ANY,
  ansi_c_string: SAME_IN_ALL_SHELLS,
  string: ANY,
  string_content: ANY,
  concatenation: ANY,
}

/** Whether a part of a word, without the parts in it, changes nothing when it is read. */
export function isHarmlessPart(node: Node): boolean {
  // A dollar sign with a blank behind it is only text between double quotes, and so is the word that follows.
  if (node.type === 'simple_expansion' && node.parent?.type === 'string' && /^\s*\$\s+\w+$/.test(node.text)) return true
  if (!HARMLESS_PARTS[node.type]?.test(node.text)) return false
  if (node.type === 'concatenation' && !isUnbroken(node)) return false
  // Patterns are one token for the grammar, whatever is in them.
  return node.namedChildCount > 0 || !/`|\$\(/.test(node.text)
}
