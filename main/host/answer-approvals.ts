import { approvalsRequest, type ApprovalsAnswer, type ApprovalsRequest } from '../../sidecars/protocol/host-channel.ts'
import type { ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { RequestContext } from '../../sidecars/rpc/peer.ts'
import type { Answer, Approvals } from '../approvals/approvals.ts'
import type { Audit } from '../audit/audit.ts'
import { subjectLine } from '../audit/subject-line.ts'
import type { Leases } from '../egress/leases.ts'
import type { SidecarLink } from '../sidecar-clients/sidecar-link.ts'
import { SIDECAR_WORDS } from '../sidecar-clients/sidecar-words.ts'

export interface AnswerOptions {
  approvals: Approvals
  leases: Leases
  audit: Pick<Audit, 'record'>
  /** A command asks for its process: whoever started it learns which one it is. */
  onCommand(sessionId: SessionId, processId: ProcessId): void
}

/**
 * Serves `approvals/request` to a sidecar. An allowed command gets its way to the proxy with the answer;
 * when there is none the answer is an error, and an error is never a yes.
 */
export function answerApprovals(link: SidecarLink, options: AnswerOptions): void {
  link.onRequest('approvals/request', approvalsRequest, (params, context) => answer(link, options, params, context))
}

async function answer(
  link: SidecarLink,
  options: AnswerOptions,
  params: ApprovalsRequest,
  { signal, peer }: RequestContext,
): Promise<ApprovalsAnswer> {
  const { origin, subject } = params
  if (subject.kind === 'command' && origin.processId !== undefined)
    options.onCommand(origin.sessionId, origin.processId)
  const answered = await options.approvals.ask(params, {
    asker: { sidecar: link.name, generation: link.generation },
    signal,
    whyGone: () => (peer.isClosed ? `${SIDECAR_WORDS[link.name]} stopped` : goneClause(params)),
  })
  return { ...answered, environment: await environmentFor(options, params, answered, signal) }
}

/** Nobody tells why a question was taken back; these are what it means for each kind. */
function goneClause({ subject }: ApprovalsRequest): string {
  return subject.kind === 'connection'
    ? 'the program no longer waits for the connection'
    : 'the agent took it back or left'
}

async function environmentFor(
  { leases, audit }: AnswerOptions,
  { subject, origin }: ApprovalsRequest,
  { decision, requestId }: Answer,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const { sessionId, processId } = origin
  if (decision.verdict !== 'allow' || subject.kind !== 'command' || processId === undefined) return {}
  try {
    const { envChanges } = subject
    const holder = { processId, sessionId, command: subjectLine(subject), envChanges }
    return (await leases.grant(holder, signal)).environment
  } catch (error) {
    audit.record({ kind: 'request.failed', requestId, sessionId, reason: (error as Error).message })
    throw error
  }
}
