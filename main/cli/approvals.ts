import type { ApprovalView } from '../../preload/api.ts'
import { alreadyDecided } from '../approvals/decision-words.ts'
import { readArguments, type Command } from './command.ts'
import { withHost } from './connect.ts'
import { subjectDetails, subjectLine } from './describe-subject.ts'
import { age, LINE_LIMIT, NAME_LIMIT, printJson, printLine, shortened, table, visible } from './print.ts'

export const approvals: Command = {
  name: 'approvals',
  summary: 'List the requests that wait for a decision.',
  help: `Usage: gatehouse approvals [--all] [--long] [--json]

  --all    also decided, withdrawn and expired requests that the host still knows
  --long   everything each decision would be bound to, not only one line
  --json   as JSON

Decide with gatehouse approve ID or gatehouse deny ID.`,
  run: async (argv) => {
    const { values } = readArguments(argv, {
      all: { type: 'boolean' },
      long: { type: 'boolean' },
      json: { type: 'boolean' },
    })
    const list = await withHost(async ({ client }) => {
      const { tables } = await client.invoke('feed.snapshot')
      return Object.values(tables.approvals)
        .filter((approval) => values.all || approval.state === 'pending')
        .sort((a, b) => a.askedAtMs - b.askedAtMs)
    })
    if (values.json) printJson(list)
    else if (list.length === 0) printLine('nothing waits for a decision')
    else if (values.long) printLine(list.map((approval) => describe(approval).join('\n')).join('\n\n'))
    else
      printLine(
        table(
          ['ID', 'STATE', 'AGE', 'AGENT', 'WHAT'],
          list.map((approval) => [
            approval.id,
            approval.state,
            age(approval.askedAtMs),
            shortened(visible(approval.agentName), NAME_LIMIT),
            shortened(subjectLine(approval.subject), LINE_LIMIT),
          ]),
        ),
      )
    return 0
  },
}

function describe(approval: ApprovalView): string[] {
  return [
    `${approval.id}  ${approval.state}, asked ${age(approval.askedAtMs)} ago by ${visible(approval.agentName)}`,
    `session  ${visible(approval.sessionTitle)}`,
    ...subjectDetails(approval.subject),
    `why      ${visible(approval.why.summary)}`,
    ...(approval.why.nearly === null ? [] : [`nearly   ${visible(approval.why.nearly)}`]),
    ...(approval.reason === null ? [] : [`it says  ${visible(approval.reason)}`]),
    ...(approval.refused === null ? [] : [`refused  by its sandbox before: ${visible(approval.refused)}`]),
    ...(approval.decision === null ? [] : [`decision ${alreadyDecided(approval.decision)}`]),
    `scopes   ${approval.scopes.join(', ')}`,
  ]
}
