import * as z from 'zod'
import { underCallSignal } from './call-signal.ts'
import { processResult, processResultShape } from './process-result.ts'
import { processIdArgument, type ToolScope } from './tool-scope.ts'
import { DEFAULT_YIELD_MS, MAX_YIELD_MS, waitForProcess } from './wait-for-process.ts'

const input = z.strictObject({
  processId: processIdArgument,
  waitMs: z
    .int()
    .min(0)
    .max(MAX_YIELD_MS)
    .optional()
    .describe(`How long to wait for the end, default ${DEFAULT_YIELD_MS}`),
})

/** The rest of a run_command that gave back a handle before its end. */
export function registerGetResult({ server, session }: ToolScope): void {
  server.registerTool(
    'get_result',
    {
      title: 'Wait for a command',
      description:
        'Wait for a command that run_command left under way (awaiting_approval or running) and get its result. Cancelling this call stops the command unless it was started in the background.',
      inputSchema: input,
      outputSchema: processResultShape,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    async ({ processId, waitMs }, context) => {
      const caller = session()
      return await caller.during(() =>
        underCallSignal(context, async (signal) => {
          const process = caller.processes.get(processId)
          await waitForProcess(
            process,
            { until: 'settled', limitMs: waitMs ?? DEFAULT_YIELD_MS, stopsWithCall: !process.options.isBackground },
            context,
            signal,
          )
          return processResult(process)
        }),
      )
    },
  )
}
