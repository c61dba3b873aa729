import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  approvalsAnswer,
  type ApprovalsAnswer,
  type ExecServerConfig,
  type GateMode,
  type Origin,
} from '../../protocol/host-channel.ts'
import type { SessionId } from '../../protocol/ids.ts'
import { canonicalSubject, type Subject } from '../../protocol/subject.ts'
import type { RpcPeer } from '../../rpc/peer.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import { realTarget } from '../../rules/writable-places.ts'
import type { FileChange } from '../files/file-methods.ts'
import type { CommandGate, GateQuestion } from '../processes/command-gate.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { WireError } from '../wire/wire-error.ts'

/** Asks the host. Whatever goes wrong on the way is a no. */
export class HostGate implements CommandGate {
  constructor(
    private readonly host: RpcPeer,
    private readonly config: () => ExecServerConfig,
  ) {}

  async pass({ process, subject, gate, toolCallId, isInternal, refused }: GateQuestion, signal: AbortSignal) {
    const mode = gate ?? (isInternal ? 'ask' : this.config().agentGate)
    const origin = { sessionId: process.seed.sessionId, processId: process.id, toolCallId }
    const { environment, requestId } = await this.ask(subject, origin, mode, signal, refused)
    return { environment, requestId }
  }

  /**
   * Before an agent's call changes a file. Our own programs have asked themselves. Resolves with the place that
   * was decided about: the change may happen there and nowhere else.
   * @throws WireError when the change may not be made
   */
  async passChange(change: FileChange, sessionId: SessionId, connection: WireConnection): Promise<string | undefined> {
    if (connection.identity.kind === 'internal') return undefined
    const place = placeOf(change)
    const subject: Subject = { kind: 'fileChange', changes: [describe(change, place)] }
    await this.ask(subject, { sessionId }, this.config().agentGate, connection.signal)
    // A question may wait for long, and a link on the way can be another by then.
    if (placeOf(change) !== place)
      throw denied('its path leads elsewhere than when it was asked about; nothing was done')
    // Only Linux can hold on to a place by a descriptor; elsewhere this look is the last one.
    return process.platform === 'linux' ? place : undefined
  }

  private async ask(
    subject: Subject,
    origin: Origin,
    gate: GateMode,
    signal: AbortSignal,
    refused?: string,
  ): Promise<ApprovalsAnswer> {
    const answer = await this.host
      .request('approvals/request', { subject, origin, gate, refused }, approvalsAnswer, { signal })
      .catch((error: unknown) => {
        throw unanswered(error)
      })
    const { decision } = answer
    if (decision.verdict === 'deny') throw denied(decision.reason ?? 'denied by the owner')
    const hash = createHash('sha256').update(canonicalSubject(subject)).digest('hex')
    if (decision.subjectHash !== hash) throw denied('the decision was made for something else; nothing was done')
    return answer
  }
}

/** Where the change would happen. Removing a link takes the link away; everything else follows it. */
function placeOf({ kind, path }: FileChange): string {
  const place = kind === 'remove' ? realTarget(dirname(path)) : realTarget(path)
  if (place === undefined) throw denied(`it cannot be told where ${path} leads, so nothing was done`)
  return kind === 'remove' ? join(place, basename(path)) : place
}

function describe({ kind, path, isInside }: FileChange, place: string) {
  const isThere = kind === 'write' && statSync(place, { throwIfNoEntry: false }) !== undefined
  return {
    path: place,
    ...(place !== path && { namedPath: path }),
    kind: kind === 'remove' ? ('delete' as const) : isThere ? ('update' as const) : ('add' as const),
    outsideRoots: !isInside(place),
  }
}

/** The reason is the owner's or the rule's own words. */
function denied(reason: string): WireError {
  return new WireError('internal', reason, { kind: 'denied', reason })
}

function unanswered(error: unknown): WireError {
  if (error instanceof RpcError && error.code === 'cancelled')
    return new WireError('internal', 'withdrawn before it was decided', { kind: 'withdrawn' })
  const message = error instanceof Error ? error.message : String(error)
  return denied(`it could not be decided, so it was not done: ${message}`)
}
