import { StringDecoder } from 'node:string_decoder'

const MAX_LINES = 200
const MAX_LINE_CHARS = 2_000

/** The last lines a sidecar wrote to stderr, over all its generations. */
export class StderrTail {
  private readonly kept: string[] = []
  private decoder = new StringDecoder('utf8')
  private unfinished = ''

  push(chunk: Uint8Array): void {
    const parts = (this.unfinished + this.decoder.write(Buffer.from(chunk))).split('\n')
    this.unfinished = (parts.pop() ?? '').slice(0, MAX_LINE_CHARS)
    for (const part of parts) this.add(part)
  }
  /** The process ended: an unfinished line is complete now. */
  end(): void {
    this.add(this.unfinished + this.decoder.end())
    this.unfinished = ''
    this.decoder = new StringDecoder('utf8')
  }
  /** The last `count` lines, oldest first. */
  lines(count = MAX_LINES): string[] {
    return this.kept.slice(-count)
  }

  private add(line: string): void {
    const text = line.trimEnd().slice(0, MAX_LINE_CHARS)
    if (text === '') return
    this.kept.push(text)
    if (this.kept.length > MAX_LINES) this.kept.shift()
  }
}
