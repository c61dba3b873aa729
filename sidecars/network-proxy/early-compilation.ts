/**
 * When the engine compiles what is run often. A proxy runs the same few functions for each connection, and an
 * install or a build makes a few hundred of those: with the stock settings, meant for programs that run for long,
 * it is over before they are compiled, and each request costs nearly twice as much (docs/performance.md).
 */
import { setFlagsFromString } from 'node:v8'

/** The settings that `version` of V8 knows; it complains on stderr about others. */
export function compilationFlags(version: string): string[] {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const countsInvocations = major > 11 || (major === 11 && minor >= 4)
  return [
    // Stock: 3000 (2400 at first) invocations, before that 66 or 132 KiB of bytecode in one function.
    countsInvocations ? '--invocation-count-for-turbofan=300' : '--interrupt-budget=10000',
    // What a connection leaves behind is small: waking helper threads for it costs more than they save.
    '--no-parallel-scavenge',
  ]
}

/** For the whole process, from now on. */
export function compileEarly(): void {
  for (const flag of compilationFlags(process.versions.v8)) setFlagsFromString(flag)
}
