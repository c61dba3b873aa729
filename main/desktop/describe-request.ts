import type { ApprovalView, Subject } from '../../preload/api.ts'

const LONGEST = 120
/** Control, zero-width and bidirectional characters: in a notification they could only mislead. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** One line for a notification or a menu: who asks for what. Not the basis of a decision: the card is. */
export function describeRequest(approval: ApprovalView): string {
  return clip(`${approval.agentName} ${describeWish(approval.subject)}`)
}

function describeWish(subject: Subject): string {
  switch (subject.kind) {
    case 'command':
      return `wants to run ${subject.argv.join(' ')}`
    case 'connection':
      return `wants to reach ${subject.host}:${subject.port}`
    case 'fileChange':
      return subject.changes.length === 1
        ? `wants to change ${subject.changes[0]?.path}`
        : `wants to change ${subject.changes.length} files`
    case 'toolUse':
      return `wants to use ${subject.toolName}`
    case 'elicitation':
      return `passes on a question from ${subject.serverName}`
    case 'question':
      return `asks: ${subject.questions[0]?.question}`
  }
}

function clip(text: string): string {
  const shown = text.replace(HIDDEN, (c) => (c === '\n' || c === '\t' ? ' ' : '\u{fffd}'))
  const characters = [...shown]
  return characters.length <= LONGEST ? shown : `${characters.slice(0, LONGEST - 1).join('')}…`
}
