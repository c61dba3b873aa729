import { shellQuote } from './shell-quote.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'

const SHOWN_CHARACTERS = 300

/** A subject in one line of bounded length. */
export function subjectLine(subject: Subject): string {
  switch (subject.kind) {
    case 'command':
      return shorten(shellQuote(subject.argv))
    case 'connection':
      return `${subject.host}:${subject.port} (${subject.protocol})`
    case 'fileChange':
      return shorten(`change ${subject.changes.map((change) => change.path).join(', ')}`)
    case 'toolUse':
      return shorten(`${subject.toolName} ${JSON.stringify(subject.input)}`)
    case 'elicitation':
      return shorten(`${subject.serverName}: ${subject.message}`)
    case 'question':
      return shorten(subject.questions.map(({ question }) => question).join(' '))
  }
}

/** A text cut to what fits a line of a list. */
export function shorten(text: string, limit = SHOWN_CHARACTERS): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`
}
