import type { Subject } from '../../preload/api.ts'
import { shellQuoted, visible, visibleLines } from './print.ts'

/** The subject of a request on one line, harmless in a terminal. */
export function subjectLine(subject: Subject): string {
  switch (subject.kind) {
    case 'command':
      return visible(shellQuoted(subject.argv))
    case 'connection':
      return visible(
        `${subject.method ? `${subject.method} ` : ''}${subject.host}:${subject.port} (${subject.protocol})`,
      )
    case 'fileChange':
      return visible(subject.changes.map((change) => `${change.kind} ${change.path}`).join(', '))
    case 'toolUse':
      return visible(`${subject.toolName} ${JSON.stringify(subject.input)}`)
    case 'elicitation':
      return visible(`${subject.serverName}: ${subject.message}`)
    case 'question':
      return visible(subject.questions.map(({ question }) => question).join(' '))
  }
}

/** Everything a decision would be bound to, over several lines. */
export function subjectDetails(subject: Subject): string[] {
  switch (subject.kind) {
    case 'command': {
      const changes = Object.entries(subject.envChanges ?? {}).map(([name, value]) =>
        value === null ? `  ${visible(name)} removed` : `  ${visible(name)}=${visible(value)}`,
      )
      return [
        `command  ${subjectLine(subject)}`,
        `folder   ${visible(subject.cwd)}`,
        `sandbox  ${subject.sandbox ?? 'none'}`,
        ...(subject.arg0 === undefined ? [] : [`seen as  ${visible(subject.arg0)}`]),
        ...(changes.length === 0 ? [] : ['environment', ...changes]),
      ]
    }
    case 'fileChange':
      return subject.changes.flatMap((change) => [
        `${change.kind} ${visible(change.path)}${change.namedPath === undefined ? '' : ` (asked for as ${visible(change.namedPath)})`}${change.movedTo === undefined ? '' : ` -> ${visible(change.movedTo)}`}${change.outsideRoots ? ' (outside the workspace)' : ''}`,
        ...(change.diff === undefined ? [] : visibleLines(change.diff).split('\n')),
      ])
    default:
      return [subjectLine(subject)]
  }
}
