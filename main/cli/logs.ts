import type { ProcessView } from '../../preload/api.ts'
import type { ControlClient } from '../control/control-client.ts'
import { readArguments, type Command } from './command.ts'
import { withHost } from './connect.ts'
import { findById } from './find-by-id.ts'
import { warn } from './print.ts'
import { writeFully } from './write-fully.ts'

const READ_BYTES = 1024 * 1024

export const logs: Command = {
  name: 'logs',
  summary: 'Print the output of a process, byte for byte.',
  help: `Usage: gatehouse logs ID [--follow]

  -f, --follow   go on until the process has ended

Standard output goes to stdout, standard error to stderr, a terminal's output to stdout. Output that is
no longer kept is named on stderr.`,
  run: async (argv) => {
    const { values, positionals } = readArguments(argv, { follow: { type: 'boolean', short: 'f' } }, ['ID'])
    return withHost(async ({ client }) => {
      const changes = new ProcessChanges(client)
      await changes.start()
      const { id } = findById(changes.all(), positionals[0] ?? '', 'process')
      let seq = 0
      for (;;) {
        // Asked before reading: what comes after an end that is known cannot be missed.
        const hasEnded = changes.hasEnded(id)
        const seen = changes.view(id)
        const lastSeq = seq
        seq = await printFrom(client, id, seq)
        if (seq > lastSeq) continue
        if (!values.follow || hasEnded) return 0
        await changes.next(id, seen)
      }
    })
  },
}

/** Prints what there is beyond `afterSeq`; resolves with the last sequence number printed. */
async function printFrom(client: ControlClient, id: string, afterSeq: number): Promise<number> {
  const { chunks, gap } = await client.readProcess(id, afterSeq, READ_BYTES)
  if (gap) warn(`${gap.bytes} bytes of output are no longer kept`)
  let seq = Math.max(afterSeq, gap?.toSeq ?? 0)
  for (const chunk of chunks) {
    const stream = chunk.stream === 'stderr' ? process.stderr : process.stdout
    await writeFully(stream, Buffer.from(chunk.base64, 'base64'))
    seq = chunk.seq
  }
  return seq
}

/** The table of processes, kept up to date by the feed. */
class ProcessChanges {
  private readonly table = new Map<string, ProcessView>()
  private readonly waiters: (() => void)[] = []

  constructor(private readonly client: ControlClient) {
    void client.peer.closed.then(() => this.wake())
  }

  start(): Promise<void> {
    return this.client.subscribe(
      ({ tables }) => {
        this.table.clear()
        for (const [id, view] of Object.entries(tables.processes)) this.table.set(id, view)
        this.wake()
      },
      ({ deltas }) => {
        for (const delta of deltas) {
          if (!('table' in delta) || delta.table !== 'processes') continue
          if (delta.value) this.table.set(delta.key, delta.value)
          else this.table.delete(delta.key)
        }
        this.wake()
      },
    )
  }
  all(): ProcessView[] {
    return [...this.table.values()]
  }
  /** Closed, failed to start, or forgotten. */
  hasEnded(id: string): boolean {
    const state = this.table.get(id)?.state
    return state === undefined || state === 'closed' || state === 'failed'
  }
  view(id: string): ProcessView | undefined {
    return this.table.get(id)
  }
  /** Resolves when the process is no longer as `seen`, maybe at once, or the host is gone. */
  async next(id: string, seen: ProcessView | undefined): Promise<void> {
    while (this.table.get(id) === seen && !this.client.peer.isClosed)
      await new Promise<void>((resolve) => this.waiters.push(resolve))
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter()
  }
}
