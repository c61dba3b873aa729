import { constants } from 'node:os'
import type { ChildExit } from './child.ts'

/**
 * The exit code as the wire has it: 128 + signal for a process on pipes, 1 for one on a terminal
 * whatever signal ended it, -1 when nobody knows.
 */
export function wireExitCode({ code, signal }: ChildExit, tty: boolean): number {
  if (code !== null) return code
  if (signal === null) return -1
  return tty ? 1 : 128 + (constants.signals[signal] ?? 0)
}

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

/** Its name; one that the system has and Node does not know is named by its number. */
export function signalName(signal: number): NodeJS.Signals {
  return (SIGNAL_NAMES.get(signal) ?? `SIG${signal}`) as NodeJS.Signals
}
