import * as z from 'zod'
import type { AgentProcess } from '../processes/agent-process.ts'
import { toolResult, type ToolScope } from './tool-scope.ts'

const listed = z.object({
  processId: z.string(),
  command: z.array(z.string()),
  cwd: z.string(),
  status: z.string(),
  exitCode: z.int().optional(),
  background: z.boolean(),
  durationMs: z.int(),
  outputBytes: z.int(),
})
/** A long command line is cut in the text, not in the structure. */
const MAX_LINE_LENGTH = 160

export function registerListProcesses({ server, session }: ToolScope): void {
  server.registerTool(
    'list_processes',
    {
      title: 'List processes',
      description: 'List the processes of this session, oldest first: running, waiting for a decision, and ended ones.',
      inputSchema: z.strictObject({}),
      outputSchema: z.object({ processes: z.array(listed) }),
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    async () => {
      const processes = session().processes.list().map(facts)
      const lines = processes.map(
        (p) => `${p.processId}  ${p.status}  ${p.command.join(' ').slice(0, MAX_LINE_LENGTH)}`,
      )
      return toolResult(lines.length === 0 ? 'No processes in this session.' : lines.join('\n'), { processes })
    },
  )
}

function facts(process: AgentProcess): z.infer<typeof listed> {
  const { request, exitCode } = process
  return {
    processId: process.id,
    command: request.argv,
    cwd: request.cwd,
    status: process.status,
    ...(exitCode === null ? {} : { exitCode }),
    background: process.options.isBackground,
    durationMs: process.durationMs,
    outputBytes: process.output.totalBytes,
  }
}
