/** Command output as the model gets it: short, with both ends, and honest about what is missing. */

/** Rule of thumb for English text and code. */
const BYTES_PER_TOKEN = 4
export const DEFAULT_OUTPUT_TOKENS = 10_000

export const approximateTokens = (byteLength: number): number => Math.ceil(byteLength / BYTES_PER_TOKEN)

/**
 * Keeps the first and last halves of a token budget and says how much was left out between them. Cuts
 * at character boundaries.
 */
export function truncateMiddle(text: string, maxTokens: number): string {
  const budget = Math.max(0, maxTokens) * BYTES_PER_TOKEN
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= budget) return text
  const head = cutBefore(bytes, Math.floor(budget / 2))
  const tail = cutAfter(bytes, bytes.length - Math.floor(budget / 2))
  const left = approximateTokens(tail - head)
  return (
    `Warning: truncated output (original token count: ${approximateTokens(bytes.length)})\n` +
    `Total output lines: ${lineCount(text)}\n\n` +
    `${bytes.toString('utf8', 0, head)}…${left} tokens truncated…${bytes.toString('utf8', tail)}`
  )
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

function cutBefore(bytes: Buffer, at: number): number {
  let cut = at
  while (cut > 0 && isContinuation(bytes[cut])) cut--
  return cut
}

function cutAfter(bytes: Buffer, at: number): number {
  let cut = at
  while (cut < bytes.length && isContinuation(bytes[cut])) cut++
  return cut
}

function lineCount(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return text === '' || text.endsWith('\n') ? count : count + 1
}

export interface CommandAnswer {
  chunkId: string
  wallTimeMs: number
  /** Null while it runs on. */
  exitCode: number | null
  /** Names the terminal to write to while it runs on. */
  sessionId: number | null
  output: string
  maxTokens: number
}

/** The answer of exec_command and write_stdin: five lines of facts, then the output. */
export function commandAnswerText(answer: CommandAnswer): string {
  const lines = [`Chunk ID: ${answer.chunkId}`, `Wall time: ${(answer.wallTimeMs / 1000).toFixed(4)} seconds`]
  if (answer.exitCode !== null) lines.push(`Process exited with code ${answer.exitCode}`)
  if (answer.sessionId !== null) lines.push(`Process running with session ID ${answer.sessionId}`)
  lines.push(`Original token count: ${approximateTokens(Buffer.byteLength(answer.output))}`, 'Output:')
  return `${lines.join('\n')}\n${truncateMiddle(answer.output, answer.maxTokens)}`
}
