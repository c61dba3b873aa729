import * as z from 'zod'
import { readCommand } from '../processes/process-request.ts'
import { NO_HOST } from '../sessions/host-link.ts'
import { underCallSignal } from './call-signal.ts'
import { defaultCwd } from './default-cwd.ts'
import { processResult, processResultShape } from './process-result.ts'
import { toolError, type ToolScope } from './tool-scope.ts'
import { DEFAULT_YIELD_MS, MAX_YIELD_MS, waitForProcess } from './wait-for-process.ts'

/** A day: longer limits do not fit a timer, and nobody means them. */
const MAX_TIMEOUT_MS = 86_400_000

const input = z.strictObject({
  argv: z.array(z.string()).max(4096).optional().describe('Program and arguments, run without a shell'),
  shell: z.string().max(262_144).optional().describe('Shell text instead of argv, run by bash'),
  login: z.boolean().optional().describe('With shell: read the login profile first (bash -lc); default false'),
  cwd: z.string().optional().describe('Absolute path of the folder to run in; default: the folder of this connection'),
  env: z.record(z.string(), z.string()).optional().describe('Environment variables to set'),
  tty: z.boolean().optional().describe('Run in a terminal (80 x 24); default false'),
  stdin: z.boolean().optional().describe('Keep standard input open for write_stdin; default false (end of file)'),
  timeoutMs: z.int().min(1).max(MAX_TIMEOUT_MS).optional().describe('Stop the whole process group after this time'),
  background: z.boolean().optional().describe('Return as soon as it runs; it ends with this session'),
  keepAfterSession: z.boolean().optional().describe('With background: keep it running after this session has ended'),
  yieldMs: z
    .int()
    .min(0)
    .max(MAX_YIELD_MS)
    .optional()
    .describe(`Return what there is after this time, default ${DEFAULT_YIELD_MS}; get_result then waits on`),
})

const DESCRIPTION = `Run a command on the owner's machine through Gatehouse. Give argv or shell. The owner's rules or the owner decide first; if denied, nothing runs and the answer says why: do not try the same another way. A decision can take long: status awaiting_approval or running means the command is still under way, so go on with get_result instead of starting it again. Long output is shortened in the middle; read_output returns every byte. Cancelling the call stops the command.`

export function registerRunCommand(scope: ToolScope): void {
  const { server, session } = scope
  server.registerTool(
    'run_command',
    {
      title: 'Run a command',
      description: DESCRIPTION,
      inputSchema: input,
      outputSchema: processResultShape,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
    async ({ timeoutMs, background = false, keepAfterSession = false, yieldMs, ...words }, context) => {
      const caller = session()
      if (!caller.host.isPresent) return toolError(NO_HOST)
      return await caller.during(() =>
        underCallSignal(context, async (signal) => {
          const fallback = words.cwd === undefined ? await defaultCwd(scope, context) : undefined
          const process = caller.processes.start(readCommand(words, fallback), {
            toolCallId: String(context.mcpReq.id),
            timeoutMs,
            isBackground: background,
            isKept: background && keepAfterSession,
          })
          await waitForProcess(
            process,
            { until: background ? 'started' : 'settled', limitMs: yieldMs ?? DEFAULT_YIELD_MS, stopsWithCall: true },
            context,
            signal,
          )
          return processResult(process)
        }),
      )
    },
  )
}
