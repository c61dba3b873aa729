import type { ConnectionView } from '../../preload/api.ts'
import type { ConnectionFacts } from '../../sidecars/protocol/host-channel.ts'

/** To whom a connection belongs, as far as its credential tells. */
export interface ConnectionContext {
  processId: string | null
  sessionId: string | null
  sessionTitle: string | null
  command: string | null
  pid: number | null
  ruleText: string | null
}

/** What the window shows of a connection; the credential itself stays here. */
export function connectionView(facts: ConnectionFacts, context: ConnectionContext): ConnectionView {
  const { leaseId: _, ...shown } = facts
  return { ...shown, ...context }
}
