/** Keeps a commandExecution item in step with its terminal: started, output deltas, completed. */
import { randomBytes } from 'node:crypto'
import type { CommandExecutionItem } from '../../protocol/app-server/thread-item.ts'
import type { Terminal, TerminalEvents } from './terminals.ts'
import type { ThreadRuntime } from './thread-runtime.ts'

/** Longest text of one delta notification. */
const MAX_DELTA_CHARACTERS = 8 * 1024
/** Output kept in the stored item; the live one has all that the buffer kept. */
const MAX_STORED_OUTPUT_BYTES = 65_536

export const chunkId = (): string => randomBytes(3).toString('hex')

export class CommandItemStream implements TerminalEvents {
  private startedAtMs: number | null
  private readonly createdAtMs: number
  private finished = false

  /** @param startedAtMs set when the item was announced already, with an approval */
  constructor(
    private readonly thread: ThreadRuntime,
    private readonly turnId: string,
    private readonly item: CommandExecutionItem,
    startedAtMs: number | null,
  ) {
    this.startedAtMs = startedAtMs
    this.createdAtMs = thread.services.nowMs()
  }

  /** The process runs; announces the item unless that was done with the approval. */
  started(terminal: Terminal): void {
    this.item.processId = String(terminal.id)
    this.item.source = 'unifiedExecStartup'
    this.announce()
  }

  onText(text: string): void {
    this.announce()
    for (let at = 0; at < text.length;) {
      const end = pieceEnd(text, at)
      this.thread.emit('item/commandExecution/outputDelta', {
        threadId: this.thread.id,
        turnId: this.turnId,
        itemId: this.item.id,
        delta: text.slice(at, end),
      })
      at = end
    }
  }

  onEnd(terminal: Terminal): void {
    this.item.processId = String(terminal.id)
    this.item.source = 'unifiedExecStartup'
    const exitCode = terminal.killed ? -1 : (terminal.exitCode ?? -1)
    this.finish({ status: exitCode === 0 ? 'completed' : 'failed', exitCode, aggregatedOutput: terminal.output.text })
  }

  /** It could not be started; shown all the same. */
  fail(message: string): void {
    this.finish({ status: 'failed', exitCode: -1, aggregatedOutput: message })
  }

  private announce(): void {
    if (this.startedAtMs === null) this.startedAtMs = this.thread.beginItem(this.turnId, { ...this.item })
  }

  private finish(end: Pick<CommandExecutionItem, 'status' | 'exitCode' | 'aggregatedOutput'>): void {
    if (this.finished) return
    this.finished = true
    this.announce()
    const durationMs = this.thread.services.nowMs() - this.createdAtMs
    this.thread.finishItem(this.turnId, { ...this.item, ...end, durationMs }, this.startedAtMs!)
  }
}

/** Never between the halves of a surrogate pair. */
function pieceEnd(text: string, at: number): number {
  const end = Math.min(text.length, at + MAX_DELTA_CHARACTERS)
  const last = text.charCodeAt(end - 1)
  return end < text.length && last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

/** The item as stored: its output cut to the reference's bound, the end kept. */
export function storedCommandItem(item: CommandExecutionItem): CommandExecutionItem {
  const output = item.aggregatedOutput
  if (output === null || Buffer.byteLength(output) <= MAX_STORED_OUTPUT_BYTES) return item
  const half = MAX_STORED_OUTPUT_BYTES / 2
  const bytes = Buffer.from(output)
  const cut = bytes.length - MAX_STORED_OUTPUT_BYTES
  const text = `${bytes.toString('utf8', 0, half)}\n[… ${cut} bytes not stored …]\n${bytes.toString('utf8', bytes.length - half)}`
  return { ...item, aggregatedOutput: text }
}
