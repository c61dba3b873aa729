import * as z from 'zod'
import type { WriteStatus } from '../../protocol/exec-process.ts'
import type { AgentProcess } from '../processes/agent-process.ts'
import type { StartedProcess } from '../processes/exec-port.ts'
import { processIdArgument, toolError, toolResult, type ToolScope } from './tool-scope.ts'

const input = z.strictObject({
  processId: processIdArgument,
  text: z.string().max(1_048_576).describe('What to write, as is; end a line with \\n. May be empty with endInput'),
  endInput: z.boolean().optional().describe('Close standard input after the text; in a terminal this sends Ctrl-D'),
})
const output = z.object({ acceptedBytes: z.int(), inputEnded: z.boolean() })

/** End of transmission: how a terminal ends the input of what runs in it. */
const CTRL_D = Uint8Array.of(0x04)

export function registerWriteStdin({ server, session }: ToolScope): void {
  server.registerTool(
    'write_stdin',
    {
      title: 'Write to a process',
      description:
        'Write text to the standard input of a running process that was started with stdin or tty. Control keys work in a terminal, e.g. \\u0003 for Ctrl-C.',
      inputSchema: input,
      outputSchema: output,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
    async ({ processId, text, endInput = false }) => {
      const caller = session()
      return await caller.during(async () => {
        const process = caller.processes.get(processId)
        const bytes = Buffer.from(text, 'utf8')
        const refusal = await write(process, bytes, endInput)
        if (refusal !== null) return toolError(`${processId}: ${refusal}`)
        const facts = { acceptedBytes: bytes.length, inputEnded: endInput }
        return toolResult(`${bytes.length} bytes written${endInput ? ', input ended' : ''}`, facts)
      })
    },
  )
}

/** Null when all was taken, else why not and what to do. */
async function write(process: AgentProcess, bytes: Buffer, endInput: boolean): Promise<string | null> {
  const { onExecServer, status, request } = process
  if (status === 'awaiting_approval') return 'still waits for a decision; write once it is running (get_result)'
  if (!onExecServer || status !== 'running') return `is not running any more (${status})`
  if (!request.tty && !request.pipeStdin)
    return 'has no open standard input; start the command with stdin: true or tty: true'
  const taken = await send(onExecServer, bytes, endInput ? (request.tty ? 'ctrl-d' : 'close') : 'keep')
  switch (taken) {
    case 'accepted':
      return null
    case 'stdinClosed':
      return 'its standard input is closed'
    case 'starting':
      return 'is being started; write again in a moment'
    case 'unknownProcess':
      return 'is not known to the exec server any more'
  }
}

async function send(process: StartedProcess, bytes: Buffer, after: 'keep' | 'close' | 'ctrl-d'): Promise<WriteStatus> {
  const status = bytes.length === 0 ? 'accepted' : await process.write(bytes)
  if (status !== 'accepted' || after === 'keep') return status
  return await (after === 'close' ? process.endInput() : process.write(CTRL_D))
}
