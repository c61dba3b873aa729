import { ALLOW, assemble, ASK_LISTENER, finish, loadArchitecture, loadNumber, unlessEqual, whenEqual } from './bpf.ts'
import type { Machine } from './system-calls.ts'

/**
 * Has whoever holds the filter's listener decide every connect(2). System calls of another architecture pass here: the
 * other filter of a command ends its process for them.
 */
export function connectFilter(machine: Machine): Buffer {
  return assemble([
    loadArchitecture(),
    ...unlessEqual(machine.architecture, [finish(ALLOW)]),
    loadNumber(),
    ...whenEqual(machine.redirecting.connect, [finish(ASK_LISTENER)]),
    finish(ALLOW),
  ])
}
