import type { AuditView } from '../../preload/api.ts'
import type { Actor, Decision } from '../../sidecars/protocol/decision.ts'
import { shellQuote } from './shell-quote.ts'
import { shorten, subjectLine } from './subject-line.ts'
import type { AuditEvent, AuditRecord } from './audit-event.ts'

/** What the journal page shows of a record. */
export function auditView(record: AuditRecord): AuditView {
  return {
    seq: record.seq,
    atMs: record.atMs,
    kind: record.kind,
    summary: summarize(record),
    sessionId: 'sessionId' in record ? (record.sessionId ?? null) : null,
  }
}

function summarize(event: AuditEvent): string {
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
      return `${decisionLine(event.decision)} ${event.requestId}`
    case 'request.withdrawn':
      return `Withdrawn ${event.requestId}: ${event.reason}`
    case 'request.failed':
      return `Nothing ran for ${event.requestId}: ${shorten(event.reason)}`
    case 'request.expired':
      return `Expired ${event.requestId}${because(event.decision.reason)}`
    case 'process.started':
      return `Started ${shorten(shellQuote(event.argv))} in ${event.cwd}${event.pid === null ? '' : ` (pid ${event.pid})`}`
    case 'process.ended':
      return `Ended ${event.processId}: ${event.exitSignal ?? (event.exitCode === undefined ? (event.detail ?? 'lost') : `exit code ${event.exitCode}`)}`
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

/** "Allowed once by you", "Denied by rule rul_x". */
export function decisionLine({ verdict, scope, actor, ruleId }: Decision): string {
  const word = verdict === 'allow' ? 'Allowed' : 'Denied'
  const range = scope === 'once' ? '' : scope === 'session' ? ' for the session' : ' always'
  return `${word}${range} by ${actor.kind === 'rule' && ruleId !== undefined ? `rule ${ruleId}` : actorName(actor)}`
}

function actorName(actor: Actor): string {
  if (actor.kind === 'person') return actor.via === 'window' ? 'you in the window' : 'you on the command line'
  return actor.kind === 'rule' ? 'a rule' : 'the default policy'
}

const because = (reason: string | undefined): string => (reason === undefined ? '' : `: ${shorten(reason)}`)
