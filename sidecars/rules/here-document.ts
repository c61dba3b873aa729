import type { Node } from 'web-tree-sitter'

/** Kinds of node that belong to a here-document itself; the grammar puts what follows in its line beside them. */
export const HEREDOC_PARTS = new Set(['heredoc_start', 'heredoc_end', 'file_descriptor', 'comment'])

/**
 * A here-document is data when its word is quoted or nothing in it can expand, and when it ends where a
 * shell would end it: the grammar is laxer there, and what follows the end is run.
 */
export function noteHeredoc(redirect: Node, body: Node, text: string, note: (what: string) => void): void {
  const find = (type: string) => redirect.namedChildren.find((child) => child?.type === type)
  const [, quote = '', word = ''] = /^(['"]?)(\w+)\1$/.exec(find('heredoc_start')?.text ?? '') ?? []
  const [start, end] = [find('heredoc_start'), find('heredoc_end')]
  const stripsTabs = redirect.children.some((child) => child?.type === '<<-')
  const isEnd = (line: string) => (stripsTabs ? line.replace(/^\t+/, '') : line) === word
  const endsWell =
    end?.text === word &&
    (end.startPosition.column === 0 || stripsTabs) &&
    /^(\n|$)/.test(text.slice(end.endIndex, end.endIndex + 1))
  const startsWell =
    start !== undefined && start !== null && /^([\s;&|<>()]|$)/.test(text.slice(start.endIndex, start.endIndex + 1))
  if (word === '' || !startsWell || !endsWell || body.text.split('\n').some(isEnd))
    note('it holds a here-document whose end is unclear')
  else if (quote === '' && /[$`\\]/.test(body.text)) note('it holds a here-document that expands')
}
