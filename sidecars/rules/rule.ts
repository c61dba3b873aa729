/** What a written rule says, after its text was read and checked. */
import { createHash } from 'node:crypto'
import type { RuleId, SessionId } from '../protocol/ids.ts'
import type { HostPattern } from '../protocol/host-pattern.ts'
import type { NetworkProtocol } from '../protocol/subject.ts'

/** Strictest last. In a file "ask" is written "prompt", and "deny" for commands "forbidden". */
export type Effect = 'allow' | 'ask' | 'deny'
const STRICTNESS: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 }

/** The stricter of two effects. */
export function stricter(a: Effect, b: Effect): Effect {
  return STRICTNESS[a] >= STRICTNESS[b] ? a : b
}

/** Where a rule stands; `line` counts from 1. */
export interface RulePlace {
  file: string
  line: number
}

interface RuleBase {
  id: RuleId
  effect: Effect
  /** As written; for a rule that is not in a file, as it would be. */
  text: string
  justification?: string
  /** Absent while the rule lives in memory only. */
  place?: RulePlace
}

/** Commands whose first words are these; each word may have alternatives. */
export interface CommandRule extends RuleBase {
  kind: 'command'
  pattern: string[][]
}

/** Connections to a host. Without a port it holds for every port, without a protocol for every one. */
export interface HostRule extends RuleBase {
  kind: 'network'
  host: HostPattern
  port?: number
  protocol?: NetworkProtocol
  /** Set when the rule lives as long as one session. */
  sessionId?: SessionId
}

export type Rule = CommandRule | HostRule

/** Which files a program's name stands for; a rule on the name then only allows these. */
export interface HostExecutable {
  name: string
  paths: string[]
  place: RulePlace
}

/** "default.rules:14", or where else the rule lives. */
export function placeName(rule: Rule): string {
  if (rule.place) return `${rule.place.file}:${rule.place.line}`
  return rule.kind === 'network' && rule.sessionId !== undefined ? 'this session' : 'memory'
}

/** An id that stays while the text does. `salt` tells equal texts in different places apart. */
export function ruleIdOf(text: string, salt: string): RuleId {
  return `rul_${createHash('sha256').update(`${salt}\0${text}`).digest('hex').slice(0, 16)}` as RuleId
}
