/** Reads `text/event-stream` (server-sent events), as far as the Responses API uses it: the data of each event. */

/**
 * Splits a byte stream into event data. Feed chunks in order; multi-byte characters and line ends may
 * be cut anywhere. LF, CRLF and lone CR end a line; several `data:` lines join with LF; comments and
 * other fields are skipped; an event without a closing blank line is dropped, as the format says.
 */
export class EventStreamReader {
  private readonly decoder = new TextDecoder('utf-8')
  private rest = ''
  private data: string | null = null

  push(chunk: Uint8Array, onData: (data: string) => void): void {
    const text = this.rest + this.decoder.decode(chunk, { stream: true })
    let from = 0
    for (;;) {
      const end = lineEnd(text, from)
      if (end === null) break
      this.line(text.slice(from, end.at), onData)
      from = end.next
    }
    this.rest = text.slice(from)
  }

  private line(line: string, onData: (data: string) => void): void {
    if (line === '') {
      const data = this.data
      this.data = null
      if (data !== null) onData(data)
    } else if (line.startsWith('data:')) {
      const value = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5)
      this.data = this.data === null ? value : `${this.data}\n${value}`
    }
  }
}

/** The next complete line end; a CR at the very end may be half of CRLF and waits for more. */
function lineEnd(text: string, from: number): { at: number; next: number } | null {
  const lf = text.indexOf('\n', from)
  const cr = text.indexOf('\r', from)
  if (cr !== -1 && (lf === -1 || cr < lf)) {
    if (cr + 1 === text.length) return null
    return { at: cr, next: text.charCodeAt(cr + 1) === 0x0a ? cr + 2 : cr + 1 }
  }
  return lf === -1 ? null : { at: lf, next: lf + 1 }
}
