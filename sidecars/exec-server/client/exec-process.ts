import type { WriteStatus } from '../../protocol/exec-process.ts'
import { chunksOf } from './catch-up.ts'
import { ExecSessionLost } from './exec-errors.ts'
import { lastSeqOf } from './output-window.ts'
import type { OutputChunk, ProcessExit, ProcessOutput } from './process-event.ts'
import type { ProcessRoute } from './process-route.ts'
import { WriteQueue } from './write-queue.ts'

/** A slow reader catches up in pieces of this size. */
const REREAD_BYTES = 256 * 1024

/** What one process asks of its session. Every call waits for a connection. */
export interface ProcessCalls {
  read(options: ReadOptions & { afterSeq: number }): Promise<ReadOutput>
  write(chunk: Uint8Array, writeId: string, closeStdin: boolean): Promise<WriteStatus>
  interrupt(): Promise<void>
  resize(columns: number, rows: number): Promise<void>
  terminate(): Promise<{ running: boolean }>
}
export interface ReadOptions {
  maxBytes?: number
  /** Waits this long for something new. */
  waitMs?: number
  signal?: AbortSignal
}
export interface ReadOutput {
  chunks: OutputChunk[]
  nextSeq: number
  exited: boolean
  exitCode: number | null
  closed: boolean
  sandboxDenied: boolean
  /** Set when the session is lost: nothing more can be read. */
  failure: ExecSessionLost | null
}

/** Decodes a wire reply into what `read` answers. */
export function readOutputOf(reply: Parameters<typeof chunksOf>[0]): ReadOutput {
  const { nextSeq, exited, closed, sandboxDenied } = reply
  return {
    chunks: chunksOf(reply),
    nextSeq,
    exited,
    exitCode: reply.exitCode ?? null,
    closed,
    sandboxDenied,
    failure: null,
  }
}

/** A process on the exec server. It survives lost connections for as long as its session can be resumed. */
export class ExecProcess {
  /** Rejects with ExecSessionLost when the session is lost first. */
  readonly exited: Promise<ProcessExit>
  /** Resolves when the exit is known and no output can follow. Rejects like `exited`. */
  readonly closed: Promise<void>
  private readonly writes: WriteQueue

  constructor(
    readonly id: string,
    /** How the server confines it, when it told. */
    readonly sandboxType: string | undefined,
    private readonly route: ProcessRoute,
    private readonly calls: ProcessCalls,
  ) {
    this.exited = route.exited
    this.closed = route.closed
    this.writes = new WriteQueue((chunk, writeId, closeStdin) => calls.write(chunk, writeId, closeStdin))
  }

  /** All output from the start. Each iteration is a reader of its own; see {@link readOutput}. */
  get output(): AsyncIterable<ProcessOutput> {
    return { [Symbol.asyncIterator]: () => this.readOutput() }
  }

  /**
   * Output after a sequence number, in order, each number once; ends when the process is closed, throws
   * ExecSessionLost when its session is. A reader that lags holds nobody up: it reads again from the
   * server, and what the server let go meanwhile comes as a gap.
   */
  async *readOutput(
    options: { afterSeq?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<ProcessOutput, void, void> {
    const { window } = this.route
    let cursor = options.afterSeq ?? 0
    for (;;) {
      options.signal?.throwIfAborted()
      if (window.droppedThroughSeq > cursor) {
        for (const output of await this.reread(cursor, options.signal)) {
          cursor = lastSeqOf(output)
          yield output
        }
        continue
      }
      const output = window.after(cursor)
      if (output) {
        cursor = lastSeqOf(output)
        yield output
      } else if (this.route.isClosed) return
      else if (this.route.failure) throw this.route.failure
      else await window.changed(options.signal)
    }
  }

  /** One read by cursor. After the session is lost it answers at once, with `failure`. */
  async read(afterSeq: number, options: ReadOptions = {}): Promise<ReadOutput> {
    try {
      return await this.calls.read({ ...options, afterSeq })
    } catch (error) {
      if (!(error instanceof ExecSessionLost)) throw error
      const { nextSeq } = this.route
      return {
        chunks: [],
        nextSeq,
        exited: true,
        exitCode: null,
        closed: true,
        sandboxDenied: false,
        failure: error,
      }
    }
  }

  /**
   * Sends input. Resolves with `accepted` once the server took all of it, or with why it did not; each
   * byte is written once, also across a lost connection. The order of the calls is the order of the bytes.
   */
  write(bytes: Uint8Array): Promise<WriteStatus> {
    return this.writes.write(bytes)
  }

  /** Ends piped stdin after what was written. Only Gatehouse's own server can; others ignore it. */
  endInput(): Promise<WriteStatus> {
    return this.writes.write(new Uint8Array(0), true)
  }

  /** SIGINT to the process group. No error when it has ended. */
  interrupt(): Promise<void> {
    return this.calls.interrupt()
  }

  /**
   * New size of its terminal, 1 to 1000 each; nothing for pipes and after the end. Only Gatehouse's own
   * server can: others reject with RpcError.
   */
  resize(columns: number, rows: number): Promise<void> {
    return this.calls.resize(columns, rows)
  }

  /** SIGKILL to the process group; `running` tells whether there was anything to end. */
  terminate(): Promise<{ running: boolean }> {
    return this.calls.terminate()
  }

  /** Never empty: without an answer from the server the missing range is a gap. */
  private async reread(afterSeq: number, signal: AbortSignal | undefined): Promise<ProcessOutput[]> {
    const throughSeq = this.route.window.droppedThroughSeq
    const chunks = await this.calls
      .read({ afterSeq, maxBytes: REREAD_BYTES, signal })
      .then((reply) => reply.chunks)
      .catch(() => [])
    signal?.throwIfAborted()
    const outputs: ProcessOutput[] = []
    let cursor = afterSeq
    for (const chunk of chunks) {
      // What follows comes by the window: only when it is there, the number of the exit is known.
      if (chunk.seq > throughSeq) return [...outputs, ...this.gapsBetween(cursor, throughSeq + 1)]
      outputs.push(...this.gapsBetween(cursor, chunk.seq), chunk)
      cursor = chunk.seq
    }
    if (chunks.length === 0) outputs.push({ kind: 'gap', fromSeq: afterSeq + 1, toSeq: throughSeq })
    return outputs
  }

  /** The numbers between two outputs, without the exit's, which is no output. */
  private gapsBetween(afterSeq: number, beforeSeq: number): ProcessOutput[] {
    const { exitSeq } = this.route
    const ranges: [number, number][] =
      exitSeq !== null && exitSeq > afterSeq && exitSeq < beforeSeq
        ? [
            [afterSeq + 1, exitSeq - 1],
            [exitSeq + 1, beforeSeq - 1],
          ]
        : [[afterSeq + 1, beforeSeq - 1]]
    return ranges
      .filter(([fromSeq, toSeq]) => fromSeq <= toSeq)
      .map(([fromSeq, toSeq]) => ({ kind: 'gap', fromSeq, toSeq }))
  }
}
