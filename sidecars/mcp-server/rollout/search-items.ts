/** Looks for words in what a thread's people can see: messages, commands and their output, changes, tool calls. */
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'

const SNIPPET_CHARACTERS = 160

export interface FoundItem {
  itemId: string
  /** Where it stands, as `thread/items/list` counts: a page in ascending order from here begins with it. */
  cursor: string
  /** The words with what stands around them, on one line. */
  snippet: string
}

/** A test for one line of a file, before it is parsed: false means that the words are not in it. */
export function lineFilter(term: string): (line: string) => boolean {
  const written = JSON.stringify(term).slice(1, -1).toLowerCase()
  return (line) => line.toLowerCase().includes(written)
}

/** The words with their surroundings; null when the item does not have them. */
export function snippetOf(item: ThreadItem, term: string): string | null {
  const wanted = term.toLowerCase()
  for (const text of textsOf(item)) {
    const at = text.toLowerCase().indexOf(wanted)
    if (at === -1) continue
    const start = Math.max(0, at - SNIPPET_CHARACTERS / 4)
    return text
      .slice(start, start + SNIPPET_CHARACTERS)
      .replaceAll(/\s+/g, ' ')
      .trim()
  }
  return null
}

function textsOf(item: ThreadItem): string[] {
  switch (item.type) {
    case 'userMessage':
      return item.content.map((part) => (part.type === 'text' ? part.text : ''))
    case 'agentMessage':
    case 'plan':
      return [item.text]
    case 'reasoning':
      return item.summary
    case 'commandExecution':
      return [item.command, item.aggregatedOutput ?? '']
    case 'fileChange':
      return item.changes.flatMap(({ path, diff }) => [path, diff])
    case 'mcpToolCall':
      return [item.server, item.tool, JSON.stringify(item.arguments) ?? '', JSON.stringify(item.result) ?? '']
    case 'dynamicToolCall':
      return [item.tool, JSON.stringify(item.arguments) ?? '', JSON.stringify(item.contentItems) ?? '']
    case 'collabAgentToolCall':
      return [item.prompt ?? '', ...Object.values(item.agentsStates).map(({ message }) => message ?? '')]
    case 'webSearch':
      return [item.query]
    case 'imageView':
      return [item.path]
    case 'enteredReviewMode':
    case 'exitedReviewMode':
      return [item.review]
    case 'contextCompaction':
      return []
  }
}
