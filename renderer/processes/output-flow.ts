/**
 * Carries a process's output from its port into a terminal. The sender stops when 2 MiB are not
 * acknowledged, so bytes are acknowledged when the terminal has really taken them, not when they
 * arrive: otherwise a flood piles up in the page until the terminal throws it away.
 */
import type { OutputPortFromServer, OutputPortFromView } from '../../preload/api.ts'
import { formatBytes } from '../components/quantities.ts'

export interface OutputSink {
  /** `taken` must be called once the text is in the terminal. */
  write(text: string | Uint8Array, taken: () => void): void
}

export interface OutputFlowEvents {
  /** A chunk has been taken. */
  onTaken?: (chunk: { seq: number; stream: 'stdout' | 'stderr' | 'pty' }) => void
  onExited?: (exit: { exitCode: number | null; exitSignal: string | null }) => void
  /** No more output will come. */
  onClosed?: () => void
  onFailed?: (message: string) => void
}

/** Leaves alternate screen, mouse reporting, bracketed paste, hidden cursor and line-drawing behind. */
export const RESET_MODES =
  '\x1b[?1049l\x1b[?47l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?2004l\x1b[?1004l\x1b[?1l\x1b>\x1b[?7h\x1b[?25h\x1b[4l\x0f\x1b(B\x1b[0m'

/** Starts at once. The returned function detaches and closes the port; what arrives later is dropped. */
export function flowOutput(port: MessagePort, sink: OutputSink, events: OutputFlowEvents = {}): () => void {
  // Standard output and error are separate streams of UTF-8: a character cut in two by the other
  // stream's chunk must still come out whole. A pty has one stream, which the terminal decodes.
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  let detached = false

  const post = (message: OutputPortFromView): void => port.postMessage(message)
  const write = (text: string | Uint8Array, taken: () => void): void => {
    if (text.length === 0) taken()
    else sink.write(text, () => !detached && taken())
  }
  const flushDecoders = (): void => {
    for (const stream of ['stdout', 'stderr'] as const) {
      write(decoders[stream].decode(), () => {})
      decoders[stream] = new TextDecoder()
    }
  }

  const onMessage = ({ data }: MessageEvent<OutputPortFromServer>): void => {
    if (detached) return
    switch (data.type) {
      case 'output': {
        const { seq, stream, bytes } = data
        const text = stream === 'pty' ? bytes : decoders[stream].decode(bytes, { stream: true })
        write(text, () => {
          post({ type: 'ack', bytes: bytes.byteLength })
          events.onTaken?.({ seq, stream })
        })
        return
      }
      case 'gap':
        flushDecoders()
        write(`\r\n\x1b[0;7m ${gapWords(data.bytes)} \x1b[0m\r\n`, () => {})
        return
      case 'exited':
        events.onExited?.({ exitCode: data.exitCode, exitSignal: data.exitSignal })
        return
      case 'closed':
        flushDecoders()
        write(RESET_MODES, () => events.onClosed?.())
        return
      case 'failed':
        events.onFailed?.(data.message)
    }
  }
  port.addEventListener('message', onMessage)
  port.start()

  return () => {
    if (detached) return
    detached = true
    post({ type: 'detach' })
    port.removeEventListener('message', onMessage)
    port.close()
  }
}

export function gapWords(sizeBytes: number): string {
  return `${formatBytes(sizeBytes)} of output are no longer kept and missing here`
}

export interface OutputExtent {
  firstSeq: number
  nextSeq: number
  outputBytes: number
}

/**
 * The sequence number after which roughly the last `sizeBytes` lie, taking chunks as equally long.
 * A terminal that opens late shows the end; the rest can be read by cursor.
 */
export function seqBeforeTail({ firstSeq, nextSeq, outputBytes }: OutputExtent, sizeBytes: number): number {
  const before = Math.max(0, firstSeq - 1)
  const chunks = nextSeq - 1
  if (outputBytes <= sizeBytes || chunks <= 0) return before
  const tailChunks = Math.ceil(sizeBytes / (outputBytes / chunks))
  return Math.max(before, chunks - tailChunks)
}
