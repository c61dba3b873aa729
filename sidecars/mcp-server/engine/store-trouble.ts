/** A session that cannot be stored: told once, tried again until it works, told when it does. */
import { storeProblem } from './store-problem.ts'

const RETRY_MS = 10_000

export interface StoreTroubleOptions {
  /** The file that cannot be written. */
  path: string
  tell(message: string): void
  /** Tries again; ends in `failed` or `succeeded`. */
  retry(): void
}

/** Owned by the session; `close` stops trying. */
export class StoreTrouble {
  private told = false
  private timer: NodeJS.Timeout | null = null
  private closed = false

  constructor(private readonly options: StoreTroubleOptions) {}

  failed(error: unknown): void {
    if (!this.told) void this.tell(error)
    this.told = true
    if (this.closed) return
    this.timer ??= setTimeout(() => {
      this.timer = null
      this.options.retry()
    }, RETRY_MS)
    this.timer.unref()
  }

  succeeded(): void {
    this.stop()
    if (this.told) this.options.tell('this session is stored again, nothing is missing')
    this.told = false
  }

  close(): void {
    this.closed = true
    this.stop()
  }

  private async tell(error: unknown): Promise<void> {
    const problem = await storeProblem(error, this.options.path)
    this.options.tell(`this session is not stored: ${problem}. It stays in memory and is tried again.`)
  }

  private stop(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
  }
}
