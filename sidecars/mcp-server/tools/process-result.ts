import type { CallToolResult } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { AgentProcess, ProcessStatus } from '../processes/agent-process.ts'
import { formatCursor } from '../processes/output-cursor.ts'

/** What run_command, get_result and stop_process answer. */
export const processResultShape = z.object({
  processId: z.string().describe('Name of the process for the other tools'),
  status: z.enum(['awaiting_approval', 'running', 'exited', 'timed_out', 'stopped', 'denied', 'failed', 'lost']),
  exitCode: z.int().optional().describe('Set once the program has exited; 128 + n for signal n'),
  reason: z.string().optional().describe('Why it was denied, failed or lost; on denied the words of who denied'),
  message: z.string().optional().describe('How it stands and what to do next, unless it simply exited'),
  durationMs: z.int().describe('Running time, without the wait for a decision'),
  output: z.string().describe('stdout and stderr in order of arrival; the middle of a long output is left out'),
  outputBytes: z.int().describe('Bytes of output so far'),
  omittedBytes: z.int().describe('Bytes left out of `output`'),
  omittedFrom: z.string().optional().describe('Cursor for read_output where the left out bytes begin'),
  outputOpen: z.boolean().describe('The program has exited, but something it started still holds its output open'),
  lossy: z.boolean().describe('Some bytes are not text; read_output with encoding base64 returns them exactly'),
})
export type ProcessResult = z.infer<typeof processResultShape>

const FAILURES: ReadonlySet<ProcessStatus> = new Set(['timed_out', 'denied', 'failed', 'lost'])

/**
 * The state of a process as a tool result: the same facts as text and as structure. Clients hand one of
 * the two to their model (Codex and Claude Code the structure), so each must be enough.
 */
export function processResult(process: AgentProcess): CallToolResult {
  const { status, reason, exitCode } = process
  const { head, omitted, tail, isLossy } = process.output.show()
  const gapLine = omitted
    ? `\n[... ${count(omitted.bytes)} bytes left out here; read them with read_output ${JSON.stringify({ processId: process.id, cursor: formatCursor(omitted.from) })} ...]\n`
    : ''
  const output = `${head}${gapLine}${tail}`
  const notes = remarks(process, isLossy)
  const message = [headline(process), ...notes].join('\n')
  const structured: ProcessResult = {
    processId: process.id,
    status,
    ...(exitCode === null ? {} : { exitCode }),
    ...(reason === null ? {} : { reason }),
    ...(status === 'exited' && notes.length === 0 ? {} : { message }),
    durationMs: process.durationMs,
    output,
    outputBytes: process.output.totalBytes,
    omittedBytes: omitted?.bytes ?? 0,
    ...(omitted ? { omittedFrom: formatCursor(omitted.from) } : {}),
    outputOpen: process.isOutputOpen,
    lossy: isLossy,
  }
  const isError = FAILURES.has(status)
  return {
    content: [{ type: 'text', text: `${message}\n${output}`.trimEnd() }],
    structuredContent: structured,
    ...(isError ? { isError: true } : {}),
  }
}

/** One line that says how it stands and what to do next. */
function headline(process: AgentProcess): string {
  const { id, status, reason } = process
  const call = JSON.stringify({ processId: id })
  switch (status) {
    case 'awaiting_approval':
      return `Waiting for the owner's decision in Gatehouse (process ${id}). Do not start the command again: call get_result ${call} to go on waiting, or stop_process ${call} to withdraw it.`
    case 'running':
      return `Still running after ${seconds(process)} (process ${id}). get_result ${call} waits for the end, read_output reads on, stop_process ends it.`
    case 'exited':
      return `exit code ${process.exitCode ?? 'unknown'} after ${seconds(process)}`
    case 'timed_out':
      return `Timed out: the limit of ${process.options.timeoutMs ?? 0} ms passed and the whole process group was stopped${process.hasSettled ? '' : ', but something of it is still alive'} (exit code ${process.exitCode ?? 'unknown'}).`
    case 'stopped':
      return process.onExecServer === undefined
        ? 'Withdrawn before a decision was made. Nothing was run.'
        : `Stopped after ${seconds(process)} (exit code ${process.exitCode ?? 'unknown'}).`
    case 'denied':
      return `Denied in Gatehouse: ${reason ?? 'no reason given'}\nNothing was run.`
    case 'failed':
      return `Could not be started: ${reason ?? 'no reason given'}\nNothing was run.`
    case 'lost':
      return `The process was lost: ${reason ?? 'the exec server ended'}. The exec server is restarted by itself; try again in a moment.`
  }
}

function remarks(process: AgentProcess, isLossy: boolean): string[] {
  return [
    ...(process.isOutputOpen && process.hasSettled
      ? [
          `The program has exited, but something it started still holds its output open; stop_process ${JSON.stringify({ processId: process.id })} ends it.`,
        ]
      : []),
    ...(isLossy ? ['Some bytes are not text and are shown as \ufffd or \u2400.'] : []),
  ]
}

const seconds = (process: AgentProcess): string => `${(process.durationMs / 1000).toFixed(1)} s`
const count = (bytes: number): string => bytes.toLocaleString('en-US')

/** `512 B`, `14.2 KB`, `3.1 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
