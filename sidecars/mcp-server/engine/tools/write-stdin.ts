/** `write_stdin`: types into a running command or just looks at what it printed meanwhile. */
import type { Terminal } from '../terminals.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolHandler } from '../tool-call.ts'
import { readNumber, readText } from '../tool-arguments.ts'
import { answerOf, limitsOf } from './command-run.ts'
import { retryOutside } from './sandbox-retry.ts'

/** After typing: how long by default, at most, and what a program gets to react before the first look. */
const TYPED_YIELD_MS = { fallback: 250, min: 0, max: 30_000, reaction: 100 }
const POLL_YIELD_MS = { fallback: 5000, min: 5000, max: 300_000 }

export function writeStdinTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: true,
    abortedText: (seconds) => `Wall time: ${seconds} seconds\naborted by user`,
    run: async (call, turn, signal) => {
      const args = argumentsOf(call)
      const id = readNumber(args, 'session_id')
      if (id === undefined) throw new ToolFailure('failed to parse function arguments: missing field `session_id`')
      const chars = readText(args, 'chars') ?? ''
      const asked = readNumber(args, 'yield_time_ms')
      const terminal = thread.terminals.get(id)
      if (!terminal) throw new ToolFailure(`write_stdin failed: Unknown process id ${id}`)
      const startedAtMs = thread.services.nowMs()
      if (chars === '') await terminal.settle(clamp(asked ?? POLL_YIELD_MS.fallback, POLL_YIELD_MS), signal)
      else {
        await type(thread, terminal, chars)
        await terminal.settle(
          Math.max(TYPED_YIELD_MS.reaction, clamp(asked ?? TYPED_YIELD_MS.fallback, TYPED_YIELD_MS)),
          signal,
        )
      }
      const limits = limitsOf(args)
      if (terminal.confined) {
        const run = { thread, turn, request: terminal.confined, limits, signal }
        const retried = await retryOutside(run, { terminal, startedAtMs })
        if (retried) return retried
      }
      // It was typed, or looked at: how the command ended is in the words.
      return { ...answerOf({ thread, limits }, { terminal, startedAtMs }), success: true }
    },
  }
}

async function type(thread: ThreadRuntime, terminal: Terminal, chars: string): Promise<void> {
  if (!terminal.tty)
    throw new ToolFailure(
      'write_stdin failed: stdin is closed for this session; start the command with tty=true to type into it',
    )
  const status = await terminal.process.write(Buffer.from(chars, 'utf8'))
  if (status !== 'accepted' && !terminal.ended)
    throw new ToolFailure(`write_stdin failed: stdin is closed for this session (${status})`)
  thread.emit('item/commandExecution/terminalInteraction', {
    threadId: thread.id,
    turnId: terminal.turnId,
    itemId: terminal.itemId,
    processId: String(terminal.id),
    stdin: chars,
  })
}

const clamp = (value: number, { min, max }: { min: number; max: number }): number => Math.min(max, Math.max(min, value))
