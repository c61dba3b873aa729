/** Parts of a shell text in words for people. */
import type { Node } from 'web-tree-sitter'

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

/** What a text does or holds with it, as a clause. */
export function describe(node: Node): string {
  const name = NAMES[node.type]
  return name === undefined
    ? `it holds ${JSON.stringify(shorten(node.text))} (${node.type.replaceAll('_', ' ')})`
    : `it ${name}`
}

export function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`
}
