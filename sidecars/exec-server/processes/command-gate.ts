import type { GateMode } from '../../protocol/host-channel.ts'
import type { CommandSubject } from '../../protocol/subject.ts'
import type { RequestId } from '../../protocol/ids.ts'
import type { ManagedProcess } from './managed-process.ts'
import type { Environment } from './child-environment.ts'

export interface GateQuestion {
  process: ManagedProcess
  /** Exactly what would be run. */
  subject: CommandSubject
  /** Overrides the gate of the connection. */
  gate: GateMode | undefined
  toolCallId: string | undefined
  title: string | undefined
  /** Last words of the same command when its sandbox refused it: it is started again. */
  refused: string | undefined
  isInternal: boolean
}

/** Whoever decides whether a command may run. */
export interface CommandGate {
  /**
   * Resolves when it may, with variables that the child must get in addition.
   * @throws WireError with the reason when it may not, or when `signal` fired first
   */
  pass(question: GateQuestion, signal: AbortSignal): Promise<{ environment: Environment; requestId: RequestId }>
}
