import * as z from 'zod'
import { processResult, processResultShape } from './process-result.ts'
import { processIdArgument, type ToolScope } from './tool-scope.ts'

const input = z.strictObject({
  processId: processIdArgument,
  signal: z
    .enum(['terminate', 'interrupt'])
    .optional()
    .describe('terminate (default) ends the whole group; interrupt sends Ctrl-C and does not wait'),
})

export function registerStopProcess({ server, session }: ToolScope): void {
  server.registerTool(
    'stop_process',
    {
      title: 'Stop a process',
      description:
        'Stop a process of this session and everything in its group, or withdraw a command that still waits for a decision. Stopping one that has ended is no error.',
      inputSchema: input,
      outputSchema: processResultShape,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    async ({ processId, signal }) => {
      const caller = session()
      return await caller.during(async () => {
        const process = caller.processes.get(processId)
        if (signal !== 'interrupt') await process.stop()
        else if (process.status === 'running') await process.onExecServer?.interrupt()
        return processResult(process)
      })
    },
  )
}
