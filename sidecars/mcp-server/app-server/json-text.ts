/** JSON that is text already, as a part of an answer: it is put in as it stands, not read and written again. */
import { randomUUID } from 'node:crypto'

/** Stands for a text while the rest is written; nobody outside can know it. */
const MARK = randomUUID()

let collected: JsonText[] = []

export class JsonText {
  /** @param pieces well-formed JSON when put together; bytes are UTF-8 */
  constructor(readonly pieces: readonly (string | Buffer)[]) {}

  toJSON(): string {
    return `${MARK}${collected.push(this) - 1}`
  }
}

/**
 * Writes something with `write` (JSON.stringify, or what uses it). When there is a JsonText in it the
 * whole comes as UTF-8 in pieces, with each JsonText in its place.
 */
export function withJsonTexts(write: () => string): string | Buffer[] {
  collected = []
  const text = write()
  if (collected.length === 0) return text
  const texts = collected
  collected = []
  const [start, ...others] = text.split(`"${MARK}`)
  const pieces: Buffer[] = [Buffer.from(start!, 'utf8')]
  for (const other of others) {
    const end = other.indexOf('"')
    for (const piece of texts[Number(other.slice(0, end))]!.pieces)
      pieces.push(typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece)
    pieces.push(Buffer.from(other.slice(end + 1), 'utf8'))
  }
  return pieces
}
