import { base64Length } from '../wire/base64-text.ts'
import { writeBase64 } from '../wire/bulk-result.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import type { ManagedProcess, ProcessObserver } from './managed-process.ts'
import type { OutputChunk } from './output-log.ts'

/** Constant pieces of one process's notifications, as bytes of the wire. */
interface Pieces {
  /** Up to and including `"seq":` of process/output. */
  outputHead: Buffer
  idJson: string
}
const STREAM_PIECES = {
  stdout: Buffer.from(',"stream":"stdout","chunk":"'),
  stderr: Buffer.from(',"stream":"stderr","chunk":"'),
  pty: Buffer.from(',"stream":"pty","chunk":"'),
} as const
const OUTPUT_TAIL = Buffer.from('"}}')

/**
 * Tells one connection what happens to the processes of its session. While the client takes less than
 * the processes print, their output is not read and they block, as on any full pipe.
 */
export class ProcessNotifications implements ProcessObserver {
  private readonly pieces = new WeakMap<ManagedProcess, Pieces>()
  private readonly held = new Set<ManagedProcess>()
  private isWaiting = false

  constructor(private readonly connection: WireConnection) {}

  onOutput(process: ManagedProcess, chunk: OutputChunk): void {
    const { outputHead } = this.piecesOf(process)
    const stream = STREAM_PIECES[chunk.stream]
    const seq = String(chunk.seq)
    const size = outputHead.length + seq.length + stream.length + base64Length(chunk.bytes.length) + OUTPUT_TAIL.length
    this.connection.carrier.sendFilled(size, (target, offset) => {
      let at = offset + outputHead.copy(target, offset)
      at += target.write(seq, at, seq.length, 'latin1')
      at += stream.copy(target, at)
      at = writeBase64(target, at, chunk.bytes)
      return at + OUTPUT_TAIL.copy(target, at)
    })
    if (this.connection.isCongested) this.holdBack(process)
  }

  onExited(process: ManagedProcess, seq: number): void {
    const { idJson } = this.piecesOf(process)
    this.connection.carrier.sendText(
      `{"method":"process/exited","params":{"processId":${idJson},"seq":${seq},"exitCode":${process.exitCode},"sandboxDenied":${process.sandboxDenied}}}`,
    )
  }

  onClosed(process: ManagedProcess, seq: number): void {
    const { idJson } = this.piecesOf(process)
    this.connection.carrier.sendText(`{"method":"process/closed","params":{"processId":${idJson},"seq":${seq}}}`)
    this.held.delete(process)
  }

  /** The connection no longer holds anything back. */
  dispose(): void {
    for (const process of this.held) process.release(this)
    this.held.clear()
  }

  private piecesOf(process: ManagedProcess): Pieces {
    const known = this.pieces.get(process)
    if (known) return known
    const idJson = JSON.stringify(process.seed.clientProcessId)
    const pieces = {
      idJson,
      outputHead: Buffer.from(`{"method":"process/output","params":{"processId":${idJson},"seq":`),
    }
    this.pieces.set(process, pieces)
    return pieces
  }

  private holdBack(process: ManagedProcess): void {
    this.held.add(process)
    process.hold(this)
    if (this.isWaiting) return
    this.isWaiting = true
    void this.connection.drained().then(() => {
      this.isWaiting = false
      this.dispose()
    })
  }
}
