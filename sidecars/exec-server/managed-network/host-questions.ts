import { decode } from '../../protocol/decode.ts'
import { policyReply, type PolicyDecision, type PolicyRequest } from '../../protocol/exec-network.ts'
import type { NetworkProtocol } from '../../protocol/subject.ts'
import type { HostDecision, OutsideAnswer, OutsideQuestion } from '../../network-proxy/embed.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'
import type { Session } from '../sessions/session.ts'

/** On top of the time that the client takes for itself: the way there and back. */
const WAY_MS = 5_000

const CALLED: Record<NetworkProtocol, PolicyRequest['request']['protocol']> = {
  http: 'http',
  websocket: 'http',
  https: 'https_connect',
  socks5Tcp: 'socks5_tcp',
  socks5Udp: 'socks5_udp',
}

/** Questions of one process's proxy to the client whose session it belongs to: `network/policyRequest`. */
export class HostQuestions {
  constructor(
    private readonly session: Session,
    private readonly process: ManagedProcess,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Rejects when nobody is connected, the answer is an error or no answer, or none comes in time: the caller
   * refuses then.
   */
  async ask({ protocol, host, port }: OutsideQuestion, signal: AbortSignal): Promise<OutsideAnswer> {
    const { connection } = this.session
    if (!connection) throw new Error('the client is not connected')
    const { clientProcessId: processId } = this.process.seed
    const params: PolicyRequest = { processId, request: { protocol: CALLED[protocol], host, port } }
    const timeoutMs = Math.min(this.timeoutMs + WAY_MS, 0x7fff_ffff)
    const reply = await connection.requests.request('network/policyRequest', params, { timeoutMs, signal })
    return decode(policyReply, reply, 'result').decision
  }
}

/** `network/policyDecision` to whoever is connected; nobody waits for it. */
export function tellDecision(session: Session, process: ManagedProcess, decision: HostDecision): void {
  const { atMs, isOverride, protocol, ...rest } = decision
  const told: PolicyDecision = {
    processId: process.seed.clientProcessId,
    timestamp: new Date(atMs).toISOString(),
    ...rest,
    protocol: CALLED[protocol],
    policyOverride: isOverride,
  }
  session.connection?.notify('network/policyDecision', told)
}
