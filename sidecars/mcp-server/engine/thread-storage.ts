/** What a thread puts on disk. Nothing here rejects: what cannot be stored stays in memory and is tried again. */
import type { RecordPayload } from '../rollout/rollout-record.ts'
import type { ThreadLog } from '../rollout/thread-log.ts'
import { StoreTrouble } from './store-trouble.ts'

/** Owned by the thread's session, which closes it. An ephemeral thread has no log, and stores nothing. */
export class ThreadStorage {
  private readonly trouble: StoreTrouble

  constructor(
    readonly log: ThreadLog | null,
    warn: (message: string) => void,
  ) {
    this.trouble = new StoreTrouble({
      path: log?.thread.path ?? '',
      tell: warn,
      retry: () => void this.persist(),
    })
  }

  /** Queues one record, in order. */
  append(type: string, payload: RecordPayload): void {
    this.log?.append(type, payload)
  }

  /** Takes the thread for this process. */
  async acquire(): Promise<void> {
    await this.log?.acquire().catch((error: unknown) => this.trouble.failed(error))
  }

  /** Puts all records into the file; they are not lost to a killed process after this. */
  write(): void {
    try {
      this.log?.write()
    } catch (error) {
      this.trouble.failed(error)
    }
  }

  /** Like `write`; pages know it, too. */
  publish(): void {
    try {
      this.log?.publish()
      this.trouble.succeeded()
    } catch (error) {
      this.trouble.failed(error)
    }
  }

  /** Writes and syncs; a full disk keeps the records in memory, is told once and tried again. */
  async persist(): Promise<void> {
    try {
      await this.log?.flush(true)
      this.trouble.succeeded()
    } catch (error) {
      this.trouble.failed(error)
    }
  }

  /** What was written survives a power cut after this. */
  async sync(): Promise<void> {
    await this.log?.sync().catch((error: unknown) => this.trouble.failed(error))
  }

  /** Lists know the thread after this. */
  async materialize(): Promise<void> {
    await this.log?.flush().catch((error: unknown) => this.trouble.failed(error))
  }

  async close(): Promise<void> {
    this.trouble.close()
    await this.log?.close()
  }
}
