import type { AuditView } from '../../preload/api.ts'
import type { Actor, Decision } from '../../sidecars/protocol/decision.ts'
import type { ProcessId, RequestId } from '../../sidecars/protocol/ids.ts'
import { shellQuote } from './shell-quote.ts'
import { shorten, subjectLine } from './subject-line.ts'
import type { AuditEvent, AuditRecord } from './audit-event.ts'

/** Enough to know it again: the whole stands where it was asked. */
const NAME_CHARACTERS = 120

/** What else is known of the requests and processes that records name only by id. */
export interface AuditNames {
  requests: ReadonlyMap<RequestId, string>
  processes: ReadonlyMap<ProcessId, string>
}

/** The names that the records themselves give. */
export function namesIn(records: readonly AuditRecord[]): AuditNames {
  const requests = new Map<RequestId, string>()
  const processes = new Map<ProcessId, string>()
  for (const record of records)
    if (record.kind === 'request.asked') {
      const name = shorten(subjectLine(record.subject), NAME_CHARACTERS)
      requests.set(record.requestId, name)
      if (record.processId !== undefined && record.subject.kind === 'command') processes.set(record.processId, name)
    } else if (record.kind === 'process.started')
      processes.set(record.processId, shorten(shellQuote(record.argv), NAME_CHARACTERS))
  return { requests, processes }
}

/** What the journal page shows of a record. */
export function auditView(record: AuditRecord, names: AuditNames = namesIn([])): AuditView {
  return {
    seq: record.seq,
    atMs: record.atMs,
    kind: record.kind,
    summary: summarize(record, names),
    sessionId: 'sessionId' in record ? (record.sessionId ?? null) : null,
  }
}

function summarize(event: AuditEvent, { requests, processes }: AuditNames): string {
  const request = (id: RequestId) => requests.get(id) ?? id
  switch (event.kind) {
    case 'host.started':
      return `Gatehouse ${event.version} started (pid ${event.pid})`
    case 'host.stopped':
      return 'Gatehouse stopped'
    case 'sidecar.changed':
      return `${event.name} is ${event.state} (generation ${event.generation})${because(event.error)}`
    case 'session.opened':
      return `${event.agentName} opened a session via ${event.via}`
    case 'session.closed':
      return `Session closed${because(event.reason)}`
    case 'request.asked':
      return `Asked: ${subjectLine(event.subject)}`
    case 'request.decided':
      return `${decisionLine(event.decision)}: ${request(event.requestId)}${byRule(event)}`
    case 'request.withdrawn':
      return `Withdrawn: ${request(event.requestId)} (${event.reason})`
    case 'request.failed':
      return `Nothing ran: ${request(event.requestId)} (${shorten(event.reason)})`
    case 'request.expired':
      return `Expired: ${request(event.requestId)} (${shorten(event.decision.reason ?? 'nobody answered')})`
    case 'process.started':
      return `Started ${shorten(shellQuote(event.argv))} in ${event.cwd}${event.pid === null ? '' : ` (pid ${event.pid})`}`
    case 'process.ended':
      return `Ended: ${processes.get(event.processId) ?? event.processId} (${endWords(event)})`
    case 'connection.decided':
      return `${event.verdict === 'allow' ? 'Allowed' : 'Blocked'} ${event.host}:${event.port}${event.count > 1 ? ` (${event.count} times)` : ''}${because(event.reason)}`
    case 'connection.ended':
      return `Connection to ${event.host}:${event.port} ${event.state}, ${event.bytesIn} bytes in, ${event.bytesOut} out`
    case 'project.trusted':
      return `Rules of the project ${event.root} ${event.trust} by ${actorName(event.actor)}`
    case 'rule.added':
      return `Rule added (${event.scope}) by ${actorName(event.actor)}: ${event.text}`
    case 'rule.removed':
      return `Rule removed by ${actorName(event.actor)}: ${event.text}`
    case 'rules.loaded':
      return `Read ${event.rules} rules from ${event.files} files${because(event.problems[0])}`
    case 'settings.changed':
      return `Settings changed: ${shorten(JSON.stringify(event.changed))}`
    case 'window.refused':
      return `The window was refused: ${event.what}${because(event.detail)}`
    case 'journal.gap':
      return `${event.lost} records were lost while the journal could not be written`
    default:
      // A newer version's kind, read from an older program.
      return (event as { kind: string }).kind
  }
}

/** "Allowed by you in the window", "Denied by a rule". */
function decisionLine({ verdict, scope, actor }: Decision): string {
  const word = verdict === 'allow' ? 'Allowed' : 'Denied'
  const range = scope === 'once' ? '' : scope === 'session' ? ' for the session' : ' always'
  return `${word}${range} by ${actorName(actor)}`
}

/** The step of the chain in which the rule spoke: it names the rule's place. */
function byRule({ decision, chain }: Extract<AuditEvent, { kind: 'request.decided' }>): string {
  if (decision.actor.kind !== 'rule') return ''
  const verb = decision.verdict === 'allow' ? ': allowed, ' : ': denied, '
  const step = chain?.find((line) => line.includes(verb))
  if (step !== undefined) return ` (${shorten(step.slice(step.indexOf(verb) + verb.length))})`
  return decision.ruleId === undefined ? '' : ` (${decision.ruleId})`
}

function endWords({ exitSignal, exitCode, detail }: Extract<AuditEvent, { kind: 'process.ended' }>): string {
  if (exitSignal !== undefined) return exitSignal
  return exitCode === undefined ? shorten(detail ?? 'lost') : `exit code ${exitCode}`
}

function actorName(actor: Actor): string {
  if (actor.kind === 'person') return actor.via === 'window' ? 'you in the window' : 'you on the command line'
  return actor.kind === 'rule' ? 'a rule' : 'the default policy'
}

const because = (reason: string | undefined): string => (reason === undefined ? '' : `: ${shorten(reason)}`)
