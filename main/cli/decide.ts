import type { ApprovalView, Scope, Verdict } from '../../preload/api.ts'
import { alreadyDecided } from '../approvals/decision-words.ts'
import { CommandError, readArguments, UsageError, type Command } from './command.ts'
import { withHost } from './connect.ts'
import { subjectLine } from './describe-subject.ts'
import { findById } from './find-by-id.ts'
import { LINE_LIMIT, printLine, shortened, visible } from './print.ts'

const SCOPES: readonly Scope[] = ['once', 'session', 'always']

export const approve: Command = {
  name: 'approve',
  summary: 'Allow a request.',
  help: `Usage: gatehouse approve ID [--scope once|session|always]

  --scope SCOPE   once (default): this request only; session: requests like it in this session;
                  always: write a rule, shown after the decision

ID is what gatehouse approvals shows; a part of it that fits only one is enough.
The decision is bound to exactly what gatehouse approvals --long shows.`,
  run: (argv) => {
    const { values, positionals } = readArguments(argv, { scope: { type: 'string' } }, ['ID'])
    return decide(positionals[0] ?? '', 'allow', readScope(values.scope), undefined)
  },
}

export const deny: Command = {
  name: 'deny',
  summary: 'Refuse a request, with words for the agent.',
  help: `Usage: gatehouse deny ID [--reason TEXT] [--scope once|session|always]

  --reason TEXT   handed to the agent word for word
  --scope SCOPE   once (default), session or always`,
  run: (argv) => {
    const { values, positionals } = readArguments(argv, { scope: { type: 'string' }, reason: { type: 'string' } }, [
      'ID',
    ])
    return decide(positionals[0] ?? '', 'deny', readScope(values.scope), values.reason)
  },
}

function readScope(given: string | undefined): Scope {
  const scope = SCOPES.find((known) => known === (given ?? 'once'))
  if (!scope) throw new UsageError(`--scope: expected once, session or always, got ${JSON.stringify(given)}`)
  return scope
}

async function decide(id: string, verdict: Verdict, scope: Scope, reason: string | undefined): Promise<number> {
  return withHost(async ({ client }) => {
    const { tables } = await client.invoke('feed.snapshot')
    const approval = findById(Object.values(tables.approvals), id, 'request')
    requireDecidable(approval, scope)
    const rule = scope === 'once' ? undefined : await client.invoke('approvals.preview', approval.id, scope)
    const result = await client.invoke('approvals.decide', {
      requestId: approval.id,
      subjectHash: approval.subjectHash,
      verdict,
      scope,
      ...(reason === undefined ? {} : { reason }),
    })
    if (!result.ok) throw new CommandError(visible(result.message))
    printLine(
      `${verdict === 'allow' ? 'allowed' : 'denied'} (${scope}): ${shortened(subjectLine(approval.subject), LINE_LIMIT)}`,
    )
    if (rule) printLine(`rule: ${visible(rule.text)}\nstored in ${visible(rule.storedIn)}`)
    return 0
  })
}

function requireDecidable(approval: ApprovalView, scope: Scope): void {
  if (approval.state === 'decided' && approval.decision)
    throw new CommandError(`${approval.id}: ${alreadyDecided(approval.decision)}`)
  if (approval.state !== 'pending')
    throw new CommandError(
      `${approval.id} is ${approval.state}: ${visible(approval.endedBecause ?? 'nobody asks any more')}`,
    )
  if (!approval.scopes.includes(scope))
    throw new UsageError(`--scope: this request can be decided for ${approval.scopes.join(' or ')}, not for ${scope}`)
}
