import * as z from 'zod'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { AgentProcess } from '../processes/agent-process.ts'
import { formatCursor, parseCursor, START_OF_OUTPUT } from '../processes/output-cursor.ts'
import { pageText, readPage, type OutputPage } from '../processes/output-page.ts'
import type { AgentSession } from '../sessions/agent-session.ts'
import { underCallSignal } from './call-signal.ts'
import { processIdArgument, toolResult, type ToolScope } from './tool-scope.ts'
import { MAX_YIELD_MS } from './wait-for-process.ts'

const DEFAULT_PAGE_BYTES = 24 * 1024
/** One page as base64 in JSON, twice (text and structure), stays well below the 10 MiB a line may have. */
const MAX_PAGE_BYTES = 1024 * 1024

const input = z.strictObject({
  processId: processIdArgument,
  cursor: z.string().max(200).optional().describe('nextCursor of the page before; default: the first byte'),
  maxBytes: z.int().min(1).max(MAX_PAGE_BYTES).optional().describe(`Size of the page, default ${DEFAULT_PAGE_BYTES}`),
  waitMs: z
    .int()
    .min(0)
    .max(MAX_YIELD_MS)
    .optional()
    .describe('How long to wait when there is no new output; default 0'),
  encoding: z.enum(['text', 'base64']).optional().describe('text (default), or base64 for the exact bytes'),
})
const page = z.object({
  status: z.string().describe('Status of the process, as in run_command'),
  output: z.string().optional().describe('The bytes as text, with encoding text'),
  chunks: z
    .array(z.object({ stream: z.enum(['stdout', 'stderr', 'pty']), base64: z.string() }))
    .optional()
    .describe('The exact bytes in order of arrival, with encoding base64'),
  bytes: z.int().describe('Bytes in this page'),
  nextCursor: z.string().describe('Where the next page begins'),
  atEnd: z.boolean().describe('Everything was read and nothing more will come'),
  lost: z
    .object({ fromSeq: z.int(), toSeq: z.int() })
    .optional()
    .describe('Output before this page that is no longer kept'),
  lossy: z.boolean().describe('Some bytes of this page are not text'),
})

export function registerReadOutput({ server, session }: ToolScope): void {
  server.registerTool(
    'read_output',
    {
      title: 'Read output',
      description:
        'Read the output of a process page by page, from any cursor, every byte once. Stop when atEnd is true. For a running process pass waitMs to wait for more.',
      inputSchema: input,
      outputSchema: page,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    async (words, context) => {
      const caller = session()
      return await caller.during(() => underCallSignal(context, (signal) => readOutput(caller, words, signal)))
    },
  )
}

async function readOutput(
  caller: AgentSession,
  words: z.infer<typeof input>,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const process = caller.processes.get(words.processId)
  const cursor = words.cursor === undefined ? START_OF_OUTPUT : parseCursor(words.cursor)
  if (!process.onExecServer) return emptyPage(process, words.cursor)
  const request = {
    cursor,
    maxBytes: words.maxBytes ?? DEFAULT_PAGE_BYTES,
    waitMs: words.waitMs ?? 0,
    exitSeq: process.exitSeq,
  }
  const read = await readPage(process.onExecServer, request, signal).catch((error: unknown) => {
    throw signal.aborted ? error : forgotten(process, error)
  })
  const facts = {
    status: process.status,
    bytes: read.pieces.reduce((sum, piece) => sum + piece.bytes.length, 0),
    atEnd: read.atEnd,
    ...(read.gap ? { lost: read.gap } : {}),
  }
  if (words.encoding === 'base64') {
    const chunks = read.pieces.map(({ stream, bytes }) => ({ stream, base64: bytes.toString('base64') }))
    const structured = { ...facts, chunks, nextCursor: formatCursor(read.next), lossy: false }
    return toolResult(JSON.stringify(structured), structured)
  }
  const { text, next, isLossy } = pageText(read, cursor)
  const nextCursor = formatCursor(next)
  const structured = { ...facts, output: text, nextCursor, lossy: isLossy }
  return toolResult([...remarks(read, process), text, closingLine(read, nextCursor)].join('\n'), structured)
}

/** A process that waits for its decision, or never ran, has no output. */
function emptyPage(process: AgentProcess, cursor: string | undefined): CallToolResult {
  const atEnd = process.hasSettled
  return toolResult(`No output: the process is ${process.status}.`, {
    status: process.status,
    output: '',
    bytes: 0,
    nextCursor: cursor ?? formatCursor(START_OF_OUTPUT),
    atEnd,
    lossy: false,
  })
}

function forgotten(process: AgentProcess, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new Error(
    `The output of ${process.id} cannot be read any more (${why}); get_result still shows its first and last bytes.`,
    { cause },
  )
}

function remarks(read: OutputPage, process: AgentProcess): string[] {
  if (!read.gap) return []
  return [`[output of ${process.id} before this is no longer kept (records ${read.gap.fromSeq} to ${read.gap.toSeq})]`]
}

function closingLine(read: OutputPage, nextCursor: string): string {
  return read.atEnd ? '[end of output]' : `[more: cursor ${JSON.stringify(nextCursor)}]`
}
