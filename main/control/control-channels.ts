/** The channels of the window that the command line may use, with what each accepts. */
import type { InvokeChannel, Invokes } from '../../preload/api.ts'
import {
  array,
  DecodeError,
  integer,
  literal,
  nullable,
  object,
  optional,
  string,
  unknown,
  type Decoder,
} from '../../sidecars/protocol/decode.ts'
import { scope, verdict } from '../../sidecars/protocol/decision.ts'
import { processSignalName, sidecarName } from '../../sidecars/protocol/host-channel.ts'

const list = array(unknown)

/** Exactly these arguments; missing and surplus ones are errors. */
function args<T extends readonly unknown[]>(...items: { [I in keyof T]: Decoder<T[I]> }): Decoder<T> {
  return (value, path) => {
    const given = list(value, path)
    if (given.length !== items.length)
      throw new DecodeError(path, `expected ${items.length} arguments, got ${given.length}`)
    return items.map((item, index) => item(given[index], `${path}[${index}]`)) as unknown as T
  }
}

export const controlChannels = {
  'feed.snapshot': args(),
  'approvals.decide': args(
    object({ requestId: string, subjectHash: string, verdict, scope, reason: optional(string) }),
  ),
  'approvals.preview': args(string, scope),
  'processes.read': args(string, integer(0), integer(1, 16 * 1024 * 1024)),
  'processes.write': args(string, string),
  'processes.endInput': args(string),
  'processes.signal': args(string, processSignalName),
  'processes.members': args(string),
  'egress.decide': args(
    object({
      connectionId: string,
      verdict,
      scope: literal('session', 'always'),
      breadth: literal('host', 'host-port'),
    }),
  ),
  'egress.undo': args(string),
  'rules.remove': args(string),
  'rules.add': args(string),
  'rules.check': args(string, string),
  'sidecars.restart': args(sidecarName),
  'sidecars.diagnostics': args(sidecarName),
  'sessions.interrupt': args(string),
  'audit.page': args(nullable(integer(0)), integer(1, 1000)),
  'agents.list': args(),
} satisfies { [C in InvokeChannel]?: Decoder<Invokes[C]['args']> }

export type ControlChannel = keyof typeof controlChannels

export function isControlChannel(name: string): name is ControlChannel {
  return Object.hasOwn(controlChannels, name)
}
