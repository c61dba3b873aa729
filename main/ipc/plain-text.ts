/** Where an escape sequence that is not complete yet may begin; longer ones are given up as text. */
const LONGEST_SEQUENCE = 4096
/* CSI, OSC and other strings ended by BEL or ST, and the two- and three-byte escapes (ECMA-48). */
const SEQUENCE = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][\s\S]*?(?:\x07|\x1b\\)|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]/g

/**
 * Turns terminal output into plain text piece by piece: escape sequences and other control characters
 * go, line ends become `\n`. A sequence cut by the end of a piece is kept for the next one.
 */
export class PlainText {
  private readonly decoder = new TextDecoder('utf-8')
  private rest = ''

  push(bytes: Uint8Array): string {
    return this.clean(this.rest + this.decoder.decode(bytes, { stream: true }), false)
  }

  end(): string {
    return this.clean(this.rest + this.decoder.decode(), true)
  }

  private clean(text: string, isLast: boolean): string {
    let stripped = text.replace(SEQUENCE, '')
    this.rest = ''
    if (!isLast) {
      const open = stripped.search(/\r*\x1b|\r+$/)
      if (open !== -1 && stripped.length - open <= LONGEST_SEQUENCE) {
        this.rest = stripped.slice(open)
        stripped = stripped.slice(0, open)
      }
    }
    return stripped
      .replace(/\r+\n/g, '\n')
      .replace(/\r/g, '\n')
      .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '')
  }
}
