import * as z from 'zod'
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import { NO_HOST } from '../sessions/host-link.ts'
import { toolResult, type ToolScope } from './tool-scope.ts'

const output = z.object({
  version: z.string(),
  host: z.enum(['connected', 'none']),
  execServer: z.enum(['ready', 'down']),
  session: z.string(),
  agent: z.string(),
  cwd: z.string().optional().describe('Where commands run that name no folder'),
  awaitingApproval: z.int(),
  running: z.int(),
  problem: z.string().optional().describe('What does not work, and the next step'),
})

export function registerStatus({ server, session }: ToolScope): void {
  server.registerTool(
    'status',
    {
      title: 'Gatehouse status',
      description:
        'Tell whether Gatehouse can run commands now, what waits for a decision, and what to do if something is wrong.',
      inputSchema: z.strictObject({}),
      outputSchema: output,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    async () => {
      const { host, exec, facts, processes } = session()
      const live = processes.live()
      const awaitingApproval = live.filter((process) => process.status === 'awaiting_approval').length
      const execProblem = await exec.check()
      const problem = host.isPresent ? execProblem : NO_HOST
      const status: z.infer<typeof output> = {
        version: GATEHOUSE_VERSION,
        host: host.isPresent ? 'connected' : 'none',
        execServer: execProblem === null ? 'ready' : 'down',
        session: facts.id,
        agent: facts.agentName,
        ...(facts.cwd === undefined ? {} : { cwd: facts.cwd }),
        awaitingApproval,
        running: live.length - awaitingApproval,
        ...(problem === null ? {} : { problem }),
      }
      const line = `Gatehouse ${GATEHOUSE_VERSION}: ${awaitingApproval} waiting for a decision, ${status.running} running.`
      return toolResult(problem === null ? line : `${line}\n${problem}`, status)
    },
  )
}
