/** JSON that is text already, as a part of an answer: it is put in as it stands, not read and written again. */
import { randomUUID } from 'node:crypto'

/** Stands for a text while the rest is written; nobody outside can know it. */
const MARK = randomUUID()

let collected: JsonText[] = []

export class JsonText {
  /** @param pieces well-formed JSON when put together */
  constructor(readonly pieces: readonly string[]) {}

  toJSON(): string {
    return `${MARK}${collected.push(this) - 1}`
  }
}

/** Writes something with `write` (JSON.stringify, or what uses it) and puts every JsonText in it in its place. */
export function withJsonTexts(write: () => string): string {
  collected = []
  const text = write()
  if (collected.length === 0) return text
  const [start, ...others] = text.split(`"${MARK}`)
  const pieces = [start]
  for (const other of others) {
    const end = other.indexOf('"')
    for (const piece of collected[Number(other.slice(0, end))]!.pieces) pieces.push(piece)
    pieces.push(other.slice(end + 1))
  }
  collected = []
  return pieces.join('')
}
