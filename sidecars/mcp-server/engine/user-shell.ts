/** A command that the person typed into the session: runs with their own rights, and the model hears of it. */
import type { CommandExecutionItem } from '../../protocol/app-server/thread-item.ts'
import { shellJoin } from '../rollout/shell-join.ts'
import type { ActiveTurn } from './active-turn.ts'
import { commandActions } from './command-actions.ts'
import { textMessage } from './model-history.ts'
import { OutputBuffer } from './output-buffer.ts'
import { DEFAULT_OUTPUT_TOKENS, truncateMiddle } from './output-text.ts'
import type { ThreadRuntime } from './thread-runtime.ts'
import { uuid7 } from './uuid7.ts'

const DEFAULT_TIMEOUT_MS = 60 * 60 * 1000

/** Never rejects: what goes wrong is the item's outcome. */
export async function runUserShell(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  command: string,
  timeoutMs: number | null,
): Promise<void> {
  const { services } = thread
  const argv = [services.shell.path, '-lc', command]
  const item: CommandExecutionItem = {
    type: 'commandExecution',
    id: uuid7(),
    command: shellJoin(argv),
    cwd: turn.settings.cwd,
    processId: null,
    source: 'userShell',
    status: 'inProgress',
    commandActions: commandActions(command, turn.settings.cwd),
    aggregatedOutput: null,
    exitCode: null,
    durationMs: null,
  }
  const startedAtMs = thread.beginItem(turn.id, item)
  const output = new OutputBuffer()
  const limit = timeoutMs ?? DEFAULT_TIMEOUT_MS
  let exitCode = -1
  let note = ''
  try {
    const process = await services.exec().start(
      {
        argv,
        cwd: turn.settings.cwd,
        env: {},
        envPolicy: { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
        metadata: { threadId: thread.id, toolCallId: item.id },
      },
      { signal: turn.signal, isApproved: true },
    )
    let timedOut = false
    const end = () => void process.terminate().catch(() => undefined) // A lost exec server ends it too.
    const timer = setTimeout(() => {
      timedOut = true
      end()
    }, limit)
    turn.signal.addEventListener('abort', end, { once: true })
    try {
      for await (const piece of process.output) {
        if (piece.kind === 'gap') continue
        const delta = output.push(piece.stream, piece.bytes)
        if (delta !== '')
          thread.emit('item/commandExecution/outputDelta', {
            threadId: thread.id,
            turnId: turn.id,
            itemId: item.id,
            delta,
          })
      }
      const exit = await process.exited
      exitCode = timedOut || turn.aborted ? -1 : (exit.exitCode ?? -1)
    } finally {
      clearTimeout(timer)
      turn.signal.removeEventListener('abort', end)
    }
    if (timedOut) note = `\nTimeout: the command was ended after ${limit} ms`
  } catch (error) {
    note = `\n${(error as Error).message}`
  }
  output.finish()
  const aggregatedOutput = output.text + note
  const durationMs = services.nowMs() - startedAtMs
  thread.record(
    textMessage(
      'user',
      `<user_shell_command>\n<command>\n${command}\n</command>\n<result>\nExit code: ${exitCode}\nDuration: ${(durationMs / 1000).toFixed(4)} seconds\nOutput:\n${truncateMiddle(aggregatedOutput, DEFAULT_OUTPUT_TOKENS)}\n</result>\n</user_shell_command>`,
    ),
  )
  thread.finishItem(
    turn.id,
    { ...item, status: exitCode === 0 ? 'completed' : 'failed', aggregatedOutput, exitCode, durationMs },
    startedAtMs,
  )
}
