/**
 * Runs the tool calls of one turn. A call starts as soon as the model has written it, beside the stream;
 * the outputs go back together in the order of the calls.
 */
import type { ResponseItem } from '../rollout/turn-projection.ts'
import type { ActiveTurn } from './active-turn.ts'
import { outputItem, ToolFailure, TurnStop, type ToolCall, type ToolHandler, type ToolOutput } from './tool-call.ts'

export interface ToolRouter {
  handler(call: ToolCall): ToolHandler | null
}

export class ToolRuntime {
  private readonly running: Promise<ResponseItem>[] = []
  /** Set when a call must end the turn; outputs of the others are still taken. */
  private stop: Error | null = null

  constructor(
    private readonly router: ToolRouter,
    private readonly turn: ActiveTurn,
    private readonly nowMs: () => number = Date.now,
  ) {}

  get started(): number {
    return this.running.length
  }

  /** Starts a call at once. */
  start(call: ToolCall): void {
    this.running.push(this.run(call))
  }

  /**
   * Waits for every call. Resolves with one output each, in call order; an aborted call has one too.
   * Rejects with TurnStop or the fault of a handler after all have ended.
   */
  async outputs(): Promise<{ items: ResponseItem[]; stop: Error | null }> {
    const items = await Promise.all(this.running)
    return { items, stop: this.stop }
  }

  private async run(call: ToolCall): Promise<ResponseItem> {
    const handler = this.router.handler(call)
    if (!handler) return outputItem(call, { content: `unsupported call: ${call.name}`, success: false })
    const startedAtMs = this.nowMs()
    try {
      const output = await this.turn.lock.run(!handler.parallel, this.turn.signal, () =>
        this.untilDoneOrCancelled(call, handler),
      )
      return outputItem(call, output)
    } catch (error) {
      if (this.turn.aborted)
        return outputItem(call, { content: abortedText(handler, this.nowMs() - startedAtMs), success: false })
      if (error instanceof ToolFailure) return outputItem(call, { content: error.message, success: false })
      this.stop ??= error as Error
      return outputItem(call, {
        content: error instanceof TurnStop ? abortedText(handler, this.nowMs() - startedAtMs) : 'the tool failed',
        success: false,
      })
    }
  }

  /**
   * A result that is there when the turn is cancelled stays the result. Otherwise the call is dropped,
   * after its own clean-up where the handler asks for that.
   */
  private untilDoneOrCancelled(call: ToolCall, handler: ToolHandler): Promise<ToolOutput> {
    const { signal } = this.turn
    const work = handler.run(call, this.turn, signal)
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        if (!handler.waitsForCancellation) queueMicrotask(() => reject(signal.reason as Error))
      }
      signal.addEventListener('abort', onAbort, { once: true })
      const release = () => signal.removeEventListener('abort', onAbort)
      work.then(
        (output) => {
          release()
          resolve(output)
        },
        (error: unknown) => {
          release()
          reject(error as Error)
        },
      )
    })
  }
}

function abortedText(handler: ToolHandler, elapsedMs: number): string {
  const seconds = Math.max(0.1, elapsedMs / 1000).toFixed(1)
  return handler.abortedText?.(seconds) ?? `aborted by user after ${seconds}s`
}
