import { resolve } from 'node:path'
import type { ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { AgentThreadStart } from '../app-server/agent-threads.ts'
import { answerWithTurn, threadResultShape } from './agent-threads-call.ts'
import { defaultCwd } from './default-cwd.ts'
import type { ToolScope } from './tool-scope.ts'

const SANDBOXES = ['read-only', 'workspace-write', 'danger-full-access'] as const
const POLICIES = ['untrusted', 'on-request', 'never'] as const

const prompt = z.string().min(1).max(1_000_000).describe('The first words to the session')
const cwd = z.string().optional().describe('Folder to work in; relative to the folder of this connection')
const model = z.string().optional().describe('Model, when not the one of the configuration')
const sandbox = z.enum(SANDBOXES).optional().describe('Where its commands may write')
const policy = z.enum(POLICIES).optional().describe('When it asks before a command; what rules deny is denied in each')
const config = z.record(z.string(), z.unknown()).optional().describe('Keys of config.toml for this session')
const instructions = (of: string) => z.string().optional().describe(`${of} instead of the usual ones`)

const ownInput = z.strictObject({
  prompt,
  cwd,
  model,
  sandbox,
  approval_policy: policy,
  config,
  base_instructions: instructions('Base instructions'),
  developer_instructions: instructions('Developer instructions'),
  compact_prompt: instructions('Words for shortening the history'),
})
/** The names and spellings of the Codex MCP server, for set-ups that were made for it. */
const codexInput = z.strictObject({
  prompt,
  cwd,
  model,
  sandbox,
  'approval-policy': policy,
  config,
  'base-instructions': instructions('Base instructions'),
  'developer-instructions': instructions('Developer instructions'),
  'compact-prompt': instructions('Words for shortening the history'),
})
type Words = z.infer<typeof ownInput>

const DESCRIPTION =
  'Start a Gatehouse session: an agent with its own model that works on the prompt in a folder, and answers with its last message. The owner is asked before it starts and whenever it wants out of its sandbox. Cancelling the call interrupts it. Continue with the threadId of the answer.'

export function registerSessionStart(scope: ToolScope): void {
  scope.server.registerTool(
    'session_start',
    {
      title: 'Start a session',
      description: DESCRIPTION,
      inputSchema: ownInput,
      outputSchema: threadResultShape,
      annotations: HINTS,
    },
    (words, context) => start(scope, context, 'session_start', words),
  )
}

export function registerCodex(scope: ToolScope): void {
  scope.server.registerTool(
    'codex',
    {
      title: 'Codex',
      description: `The same as session_start. ${DESCRIPTION}`,
      inputSchema: codexInput,
      outputSchema: threadResultShape,
      annotations: HINTS,
    },
    (words, context) =>
      start(scope, context, 'codex', {
        ...words,
        approval_policy: words['approval-policy'],
        base_instructions: words['base-instructions'],
        developer_instructions: words['developer-instructions'],
        compact_prompt: words['compact-prompt'],
      }),
  )
}

const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

/**
 * The owner decides about the start with everything that bounds it in view: whoever chooses sandbox,
 * policy and configuration of a session chooses what is asked about later.
 */
async function start(scope: ToolScope, context: ServerContext, toolName: string, words: Words) {
  const caller = scope.session()
  return await answerWithTurn(
    caller,
    context,
    null,
    async (threads, watch) => {
      const folder = await defaultCwd(scope, context)
      const options: AgentThreadStart = {
        cwd: words.cwd === undefined ? folder : resolve(folder ?? '/', words.cwd),
        model: words.model,
        sandbox: words.sandbox,
        approvalPolicy: words.approval_policy,
        config: configOf(words),
        baseInstructions: words.base_instructions,
        developerInstructions: words.developer_instructions,
      }
      watch.onState('waiting for approval in Gatehouse')
      const input = JSON.parse(JSON.stringify({ prompt: words.prompt, ...options })) as object
      const question = { sessionId: caller.id, toolCallId: String(context.mcpReq.id), toolName, input }
      const { verdict, reason } = await caller.host.decide(question, watch.signal)
      if (verdict !== 'allow') throw new Error(`The session was not started: ${reason ?? 'denied in Gatehouse'}`)
      return await threads.start(caller.facts.agentName, options, words.prompt, watch)
    },
    { tellsEvents: toolName === 'codex' },
  )
}

function configOf({ config: given, compact_prompt }: Words): Record<string, unknown> | undefined {
  return compact_prompt === undefined ? given : { ...given, compact_prompt }
}
