/**
 * The subject of an approval: exactly what would happen if it is allowed.
 * What is shown, hashed and run is this value and nothing else.
 */
import {
  array,
  boolean,
  integer,
  literal,
  nullable,
  object,
  optional,
  record,
  string,
  unknown,
  variant,
  withDefault,
  type Infer,
} from './decode.ts'

export const networkProtocol = literal('http', 'https', 'socks5Tcp', 'socks5Udp', 'websocket')
export type NetworkProtocol = Infer<typeof networkProtocol>

export const commandSubject = object({
  argv: array(string),
  /** Absolute native path. */
  cwd: string,
  /** What differs from the exec server's own environment: a value, or null for "removed". Names sorted. */
  envChanges: withDefault(record(nullable(string)), {}),
  tty: withDefault(boolean, false),
  stdin: withDefault(literal('none', 'pipe', 'tty'), 'none' as const),
  /** `none` = runs with the owner's full rights. */
  sandbox: withDefault(literal('none', 'read-only', 'workspace-write', 'external'), 'none' as const),
  /** Hash of the whole sandbox object, so that a changed one is a changed subject. */
  sandboxDetail: optional(string),
  /** Present when the program name seen by the process differs from argv[0]. */
  arg0: optional(string),
})
export const connectionSubject = object({
  /** Canonical host (ASCII, lower case, no trailing dot, IPv6 without brackets). */
  host: string,
  port: integer(0, 65535),
  protocol: networkProtocol,
  method: optional(string),
  address: optional(string),
})
export const fileChangeSubject = object({
  changes: array(
    object({
      /** Where the change would really happen, after every link on the way was followed. */
      path: string,
      /** What the asker called it, where links lead elsewhere. */
      namedPath: optional(string),
      kind: literal('add', 'update', 'delete', 'move'),
      movedTo: optional(string),
      /** Unified diff for text; absent for binary content. */
      diff: optional(string),
      contentHash: optional(string),
      outsideRoots: withDefault(boolean, false),
    }),
  ),
})
/** A foreign agent's own tool (Claude Code's permission prompt): we answer, the agent runs it. */
export const toolUseSubject = object({ toolName: string, input: unknown })
/** A form that an MCP server wants filled in, or an address it wants visited; never proof of a person. */
export const elicitationSubject = object({
  serverName: string,
  message: string,
  schema: unknown,
  /** Where the rest of it happens, outside of Gatehouse. */
  url: optional(string),
})
/** What a session wants to know from its owner. The answer is words, never a permission. */
export const questionSubject = object({
  questions: array(
    object({
      id: string,
      header: withDefault(string, ''),
      question: string,
      /** Words of the owner's own are an answer, too. */
      isOther: withDefault(boolean, true),
      isSecret: withDefault(boolean, false),
      options: nullable(array(object({ label: string, description: withDefault(string, '') }))),
    }),
  ),
})

export const subject = variant('kind', {
  command: commandSubject,
  connection: connectionSubject,
  fileChange: fileChangeSubject,
  toolUse: toolUseSubject,
  elicitation: elicitationSubject,
  question: questionSubject,
})
export type Subject = Infer<typeof subject>
export type CommandSubject = Extract<Subject, { kind: 'command' }>
export type ConnectionSubject = Extract<Subject, { kind: 'connection' }>

/**
 * The one text form of a subject: JSON with members sorted at every level. Both ends hash this, so
 * equal hash means equal subject whatever order the members were written in.
 */
export function canonicalSubject(value: unknown): string {
  if (value === undefined) return 'null'
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalSubject).join(',')}]`
  const members = Object.entries(value)
    .filter(([, v]) => v !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([k, v]) => `${JSON.stringify(k)}:${canonicalSubject(v)}`)
  return `{${members.join(',')}}`
}
