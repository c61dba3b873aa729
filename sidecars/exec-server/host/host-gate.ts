import { approvalsAnswer, type ExecServerConfig } from '../../protocol/host-channel.ts'
import type { RpcPeer } from '../../rpc/peer.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { CommandGate, GateQuestion } from '../processes/command-gate.ts'
import { subjectHash } from '../processes/command-subject.ts'
import { WireError } from '../wire/wire-error.ts'

/** Asks the host. Whatever goes wrong on the way is a no. */
export class HostGate implements CommandGate {
  constructor(
    private readonly host: RpcPeer,
    private readonly config: () => ExecServerConfig,
  ) {}

  async pass({ process, subject, gate, toolCallId, isInternal }: GateQuestion, signal: AbortSignal) {
    const answer = await this.host
      .request(
        'approvals/request',
        {
          subject,
          origin: { sessionId: process.seed.sessionId, processId: process.id, toolCallId },
          gate: gate ?? (isInternal ? 'ask' : this.config().agentGate),
        },
        approvalsAnswer,
        { signal },
      )
      .catch((error: unknown) => {
        throw notAsked(error)
      })
    const { decision, environment, requestId } = answer
    process.requestId = requestId
    if (decision.verdict === 'deny') throw denied(decision.reason ?? 'the owner denied the command')
    if (decision.subjectHash !== subjectHash(subject))
      throw denied('the decision was made for another command; nothing was run')
    return { environment, requestId }
  }
}

/** The reason is the owner's or the rule's own words. */
function denied(reason: string): WireError {
  return new WireError('internal', reason, { kind: 'denied', reason })
}

function notAsked(error: unknown): WireError {
  if (error instanceof RpcError && error.code === 'cancelled')
    return new WireError('internal', 'the command was withdrawn before it was decided', { kind: 'withdrawn' })
  const message = error instanceof Error ? error.message : String(error)
  return denied(`the command could not be decided, so it was not run: ${message}`)
}
