/**
 * The first line on `mcp.sock`, before MCP begins: who attaches, and with what right. A good line is
 * not answered; a bad one is answered with one refusal line and the end of the connection.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { decode, integer, literal, object, optional, string, type Infer } from '../../protocol/decode.ts'

const attachLine = object({
  gatehouse: literal('attach'),
  /** The agents' token of this host launch. */
  token: string,
  /** The working folder of the agent. */
  cwd: optional(string),
  /** The process id of the agent. */
  pid: optional(integer(1)),
})
export type AttachLine = Infer<typeof attachLine>

const refusalLine = object({ gatehouse: literal('refused'), reason: string })

/** Longer first lines are no attach line. */
export const MAX_ATTACH_BYTES = 64 * 1024

export function formatAttach(attach: Omit<AttachLine, 'gatehouse'>): string {
  return `${JSON.stringify({ gatehouse: 'attach', ...attach })}\n`
}

/** @throws Error naming what is wrong with the line */
export function readAttach(text: string): AttachLine {
  return decode(attachLine, JSON.parse(text) as unknown, 'attach')
}

export function formatRefusal(reason: string): string {
  return `${JSON.stringify({ gatehouse: 'refused', reason })}\n`
}

/** The reason when `text` is a refusal, else null. */
export function readRefusal(text: string): string | null {
  if (!text.startsWith('{"gatehouse"')) return null
  try {
    return decode(refusalLine, JSON.parse(text) as unknown).reason
  } catch {
    return null
  }
}

/** Compares secrets without telling by the time it takes how much of them is equal. */
export function isSameToken(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
