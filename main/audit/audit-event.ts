/** What the journal holds: one kind of event per thing that an owner may want to prove later. */
import type { Actor, Decision, Scope, Verdict } from '../../sidecars/protocol/decision.ts'
import type { ConnectionFacts, GateMode, SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { ConnectionId, ProcessId, RequestId, RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { NetworkProtocol, Subject } from '../../sidecars/protocol/subject.ts'

export type AuditEvent =
  | { kind: 'host.started'; version: string; instanceId: string; pid: number }
  | { kind: 'host.stopped' }
  | { kind: 'sidecar.changed'; name: SidecarName; state: string; generation: number; error?: string }
  | {
      kind: 'session.opened'
      sessionId: SessionId
      agentName: string
      agentVersion?: string
      via: string
      cwd?: string
      pid?: number
    }
  | { kind: 'session.closed'; sessionId: SessionId; reason?: string }
  | {
      kind: 'request.asked'
      requestId: RequestId
      sessionId: SessionId
      processId?: ProcessId
      toolCallId?: string
      gate: GateMode
      /** With values of variables that look like secrets replaced; `subjectHash` is of the unmasked one. */
      subject: Subject
      subjectHash: string
      /** The rule that wants the owner to be asked; none when only a rule is missing. */
      ruleId?: RuleId
    }
  | {
      kind: 'request.decided'
      requestId: RequestId
      sessionId: SessionId
      decision: Decision
      /** Why, step by step, when rules decided. */
      chain?: string[]
    }
  | { kind: 'request.withdrawn'; requestId: RequestId; sessionId: SessionId; reason: string }
  /** It was allowed, but the asker got an error instead: nothing ran. */
  | { kind: 'request.failed'; requestId: RequestId; sessionId: SessionId; reason: string }
  | { kind: 'request.expired'; requestId: RequestId; sessionId: SessionId; decision: Decision }
  | {
      kind: 'process.started'
      processId: ProcessId
      sessionId: SessionId
      requestId?: RequestId
      argv: string[]
      cwd: string
      pid: number | null
    }
  | {
      kind: 'process.ended'
      processId: ProcessId
      sessionId: SessionId
      exitCode?: number
      exitSignal?: string
      detail?: string
      outputBytes: number
    }
  | {
      kind: 'connection.decided'
      connectionId: ConnectionId
      sessionId?: SessionId
      processId?: ProcessId
      host: string
      port: number
      protocol: NetworkProtocol
      method?: string
      verdict: Verdict
      reason?: string
      ruleId?: RuleId
      requestId?: RequestId
      /** Equal blocks folded into this one. */
      count: number
    }
  | {
      kind: 'connection.ended'
      connectionId: ConnectionId
      sessionId?: SessionId
      host: string
      port: number
      state: ConnectionFacts['state']
      bytesIn: number
      bytesOut: number
    }
  | { kind: 'project.trusted'; root: string; trust: 'trusted' | 'untrusted'; actor: Actor }
  | {
      kind: 'rule.added'
      ruleId: RuleId
      text: string
      scope: Scope
      source: string
      sessionId?: SessionId
      requestId?: RequestId
      actor: Actor
    }
  | { kind: 'rule.removed'; ruleId: RuleId; text: string; scope: Scope; source: string; actor: Actor }
  | { kind: 'rules.loaded'; files: number; rules: number; problems: string[] }
  | { kind: 'settings.changed'; changed: Record<string, unknown> }
  /** The window tried something that its contract does not allow. */
  | { kind: 'window.refused'; what: string; detail: string }
  /** Records that did not fit into memory while the disk refused them. */
  | { kind: 'journal.gap'; lost: number; fromMs: number; toMs: number }

export type AuditKind = AuditEvent['kind']

/** An event as it stands in the journal. `seq` counts up by one over all files; order is by `seq`, not by time. */
export type AuditRecord = AuditEvent & { seq: number; atMs: number }

/**
 * Kinds that must be on disk before anything else is: they say who allowed what. The rest are facts
 * that a full memory may drop, with a `journal.gap` that says how many.
 */
export function isDurable(kind: AuditKind): boolean {
  return (
    kind.startsWith('request.') || kind.startsWith('rule.') || kind === 'settings.changed' || kind === 'journal.gap'
  )
}
