import { constants } from 'node:os'
import type { OutputChunk } from '../processes/output-log.ts'

/** Enough for the last lines of a program that explains itself at length. */
const TAIL_BYTES = 4_096
/** Of these, what a person is shown. */
const SHOWN_LINES = 8
const SHOWN_CHARACTERS = 1_000
/** How the walls make themselves felt: errno texts of what they answer, and the names of the mechanisms. */
const DENIAL =
  /operation not permitted|permission denied|read-only file system|device or resource busy|must be superuser|seccomp|landlock|sandbox|failed to write file/i

/**
 * Guesses from its last words whether a confined process failed at its walls. A guess: a program may use the
 * same words for something else, or say nothing.
 */
export class DenialWatch {
  private readonly tails = new Map<string, Buffer>()

  note({ stream, bytes }: Pick<OutputChunk, 'stream' | 'bytes'>): void {
    const before = this.tails.get(stream)
    const tail = before
      ? Buffer.concat([before, bytes.subarray(-TAIL_BYTES)])
      : Buffer.from(bytes.subarray(-TAIL_BYTES))
    this.tails.set(stream, tail.subarray(-TAIL_BYTES))
  }

  /** The end of what it printed, the streams one after the other. */
  get lastWords(): string {
    const text = [...this.tails.values()].map((tail) => tail.toString('utf8').trimEnd()).join('\n')
    return text.split('\n').slice(-SHOWN_LINES).join('\n').slice(-SHOWN_CHARACTERS).trim()
  }

  /** @param exitCode as the wire has it; null while it runs */
  isDenied(exitCode: number | null): boolean {
    if (exitCode === null || exitCode === 0) return false
    if (exitCode === 128 + constants.signals.SIGSYS) return true
    return [...this.tails.values()].some((tail) => DENIAL.test(tail.toString('latin1')))
  }
}
