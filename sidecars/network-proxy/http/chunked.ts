/** The chunked transfer coding, read strictly and written anew. */
import { MalformedHttp, parseFields, rejectStrayBytes, type Fields } from './fields.ts'

// A size line with its extension; real ones are a dozen bytes.
const MAX_LINE_BYTES = 4096
const MAX_TRAILER_BYTES = 16 * 1024
const SIZE_LINE = /^([0-9a-fA-F]{1,13})(?:[ \t]*;[\x20-\x7e\t]*)?$/

/**
 * Takes the bytes of one chunked body apart. Chunk extensions are dropped: they belong to one hop.
 * A line end that is not CR LF, a sign, a size beyond 2^52 and anything else unusual is an error.
 */
export class ChunkedReader {
  /** Set once the last chunk and the trailers have been read. */
  trailers: Fields | undefined
  private state: 'size' | 'data' | 'data-end' | 'trailers' = 'size'
  private remaining = 0
  private line = ''

  /**
   * Reads from `bytes` at `from`, giving each run of data to `onData`. Returns the offset of the first
   * byte that no longer belongs to the body; less than `bytes.length` only when `trailers` is set.
   * @throws MalformedHttp
   */
  read(bytes: Buffer, from: number, onData: (start: number, end: number) => void): number {
    let at = from
    while (at < bytes.length && this.trailers === undefined) {
      if (this.state === 'data') {
        const end = Math.min(bytes.length, at + this.remaining)
        onData(at, end)
        this.remaining -= end - at
        at = end
        if (this.remaining === 0) this.state = 'data-end'
      } else {
        at = this.readLine(bytes, at)
      }
    }
    return at
  }

  private readLine(bytes: Buffer, at: number): number {
    const lineFeed = bytes.indexOf(0x0a, at)
    const end = lineFeed < 0 ? bytes.length : lineFeed + 1
    this.line += bytes.toString('latin1', at, end)
    const limit = this.state === 'trailers' ? MAX_TRAILER_BYTES : MAX_LINE_BYTES
    if (this.line.length > limit) throw new MalformedHttp('a chunk line or trailer that is too long')
    if (lineFeed < 0) return end
    if (!this.line.endsWith('\r\n')) throw new MalformedHttp('a chunk line that does not end with CR LF')
    this.endOfLine()
    return end
  }

  private endOfLine(): void {
    switch (this.state) {
      case 'size': {
        const size = SIZE_LINE.exec(this.line.slice(0, -2))
        if (!size) throw new MalformedHttp('a chunk size that is not a plain hexadecimal number')
        this.remaining = Number.parseInt(size[1]!, 16)
        this.state = this.remaining === 0 ? 'trailers' : 'data'
        this.line = ''
        return
      }
      case 'data-end':
        if (this.line !== '\r\n') throw new MalformedHttp('chunk data longer than its size')
        this.state = 'size'
        this.line = ''
        return
      default:
        // Trailers gather in `line` until the empty one.
        if (this.line !== '\r\n' && !this.line.endsWith('\r\n\r\n')) return
        this.trailers = readTrailers(this.line)
    }
  }
}

function readTrailers(block: string): Fields {
  const text = block === '\r\n' ? '' : block.slice(0, -4)
  rejectStrayBytes(text)
  return parseFields(text, 0)
}

/** What stands before `sizeBytes` bytes of data; the data is followed by `CHUNK_END`. */
export function chunkStart(sizeBytes: number): string {
  return `${sizeBytes.toString(16)}\r\n`
}
export const CHUNK_END = '\r\n'

// Trailers that would change framing, routing, authentication or caching of a message already judged.
const NEVER_TRAILERS = new Set([
  'authorization',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'location',
  'max-forwards',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
])

/** The end of a chunked body with the trailers that may pass a proxy. */
export function lastChunk(trailers: Fields | undefined): string {
  let text = '0\r\n'
  if (trailers !== undefined)
    for (let i = 0; i < trailers.keys.length; i++)
      if (!NEVER_TRAILERS.has(trailers.keys[i]!)) text += `${trailers.names[i]}: ${trailers.values[i]}\r\n`
  return `${text}\r\n`
}
