/** What each channel of the host accepts, position by position. A call that does not fit never reaches a service. */
import type { EgressIntent, InvokeChannel, Invokes, SettingsView } from '../preload/api.ts'
import { scope, verdict } from '../sidecars/protocol/decision.ts'
import {
  array,
  boolean,
  DecodeError,
  integer,
  literal,
  nullable,
  object,
  optional,
  record,
  string,
  unknown,
  type Decoder,
} from '../sidecars/protocol/decode.ts'
import { processSignalName, sidecarName } from '../sidecars/protocol/host-channel.ts'
import { ownerThreadMethod } from '../sidecars/protocol/owner-threads.ts'

/** Channels that only a desktop can answer; the host has no part in them. */
export type DesktopChannel =
  | 'clipboard.write'
  | 'shell.openExternal'
  | 'processes.save'
  | 'processes.attach'
  | 'egress.saveExport'
export type HostChannel = Exclude<InvokeChannel, DesktopChannel>

/** Longest text of one call: a paste into a terminal, a file of rules. */
const LONGEST_TEXT = 32 * 1024 * 1024
/** Ids, folders. */
const LONGEST_NAME = 4096

export function boundedString(longest: number): Decoder<string> {
  return (value, path) => {
    const decoded = string(value, path)
    if (decoded.length > longest) throw new DecodeError(path, `expected at most ${longest} characters`)
    return decoded
  }
}
export const name = boundedString(LONGEST_NAME)
export const text = boundedString(LONGEST_TEXT)

/** Exactly these arguments; missing and surplus ones are faults. */
export function tuple<T extends readonly unknown[]>(...items: { [I in keyof T]: Decoder<T[I]> }): Decoder<T> {
  return (value, path) => {
    const given = array((item: unknown) => item)(value, path)
    if (given.length !== items.length)
      throw new DecodeError(path, `expected ${items.length} arguments, got ${given.length}`)
    return items.map((item, i) => item(given[i], `${path}[${i}]`)) as unknown as T
  }
}

const egressIntent: Decoder<EgressIntent> = object({
  connectionId: name,
  verdict,
  scope: literal('session', 'always'),
  breadth: literal('host', 'host-port'),
})

const settingsShape = {
  theme: optional(literal('system', 'dark', 'light', 'high-contrast')),
  unknownHost: optional(literal('ask', 'block')),
  agentGate: optional(literal('observe', 'ask', 'enforce')),
  notifications: optional(boolean),
  keepInTray: optional(boolean),
  agentPostures: optional(record(literal('observe', 'ask', 'enforce'))),
  readCodexRules: optional(boolean),
  networkMode: optional(literal('full', 'limited')),
  inspectHttps: optional(boolean),
}
const externalAppServer = nullable(
  object({ url: optional(name), tokenFile: optional(name), command: optional(array(name)) }),
)
const settingsChange: Decoder<Partial<SettingsView>> = (value, path) => {
  const change: Partial<SettingsView> = object(settingsShape)(value, path)
  // Null is a value here ("no shortcut"), not an absence.
  const given = value as Record<string, unknown>
  if ('globalShortcut' in given) change.globalShortcut = nullable(name)(given.globalShortcut, `${path}.globalShortcut`)
  if ('externalAppServer' in given)
    change.externalAppServer = externalAppServer(given.externalAppServer, `${path}.externalAppServer`)
  const known = [...Object.keys(settingsShape), 'globalShortcut', 'externalAppServer']
  const strange = Object.keys(given).find((key) => !known.includes(key))
  if (strange !== undefined) throw new DecodeError(`${path}.${strange}`, 'there is no such setting')
  return change
}

export const intentArguments: { [C in HostChannel]: Decoder<Invokes[C]['args']> } = {
  'feed.snapshot': tuple(),
  'approvals.decide': tuple(
    object({
      requestId: name,
      subjectHash: name,
      verdict,
      scope,
      reason: optional(boundedString(16 * 1024)),
      content: optional(record(unknown)),
    }),
  ),
  'approvals.preview': tuple(name, scope),
  'processes.read': tuple(name, integer(0), integer(1, 16 * 1024 * 1024)),
  'processes.write': tuple(name, text),
  'processes.endInput': tuple(name),
  'processes.signal': tuple(name, processSignalName),
  'processes.members': tuple(name),
  'processes.resize': tuple(name, integer(1, 1000), integer(1, 1000)),
  'egress.decide': tuple(egressIntent),
  'egress.undo': tuple(name),
  'egress.preview': tuple(egressIntent),
  'rules.remove': tuple(name),
  'rules.add': tuple(text),
  'rules.validate': tuple(text),
  'rules.check': tuple(text, name),
  'rules.preview': tuple(text),
  'rules.importSources': tuple(),
  'rules.importPreview': tuple(name),
  'rules.import': tuple(array(text)),
  'projects.list': tuple(),
  'projects.trust': tuple(name, literal('trusted', 'untrusted')),
  'settings.set': tuple(settingsChange),
  'sidecars.restart': tuple(sidecarName),
  'sidecars.diagnostics': tuple(sidecarName),
  'threads.call': tuple(ownerThreadMethod, record(unknown)),
  'sessions.interrupt': tuple(name),
  'audit.page': tuple(nullable(integer(0)), integer(1, 1000)),
  'agents.list': tuple(),
}
