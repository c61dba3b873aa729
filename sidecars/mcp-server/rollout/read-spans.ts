/** Reads many small pieces of a file with few reads. */
import { closeSync, openSync, readSync } from 'node:fs'

export interface Span {
  offset: number
  length: number
}

/** Reading what lies between two pieces is cheaper than another read up to about this much. */
const MAX_GAP_BYTES = 16 * 1024
/** One read is no longer than this, unless a single piece is. */
const MAX_READ_BYTES = 1024 * 1024

/**
 * The texts of the pieces, in their order; what lies beyond the end of the file is missing. Throws the file
 * system's error. Reads at once: for a page of items that is quicker than waiting for a thread to do it.
 */
export function readSpans(path: string, spans: readonly Span[]): string[] {
  const texts: string[] = spans.map(() => '')
  const file = openSync(path, 'r')
  try {
    for (const group of groups(spans)) {
      const start = group[0]!.span.offset
      const bytes = Buffer.allocUnsafe(Math.max(...group.map(({ span }) => span.offset + span.length)) - start)
      const bytesRead = readSync(file, bytes, 0, bytes.length, start)
      for (const { at, span } of group) {
        const from = Math.min(span.offset - start, bytesRead)
        texts[at] = bytes.toString('utf8', from, Math.min(from + span.length, bytesRead))
      }
    }
  } finally {
    closeSync(file)
  }
  return texts
}

interface Place {
  /** Position in what was asked for. */
  at: number
  span: Span
}

function groups(spans: readonly Span[]): Place[][] {
  const places = spans.map((span, at) => ({ at, span })).sort((a, b) => a.span.offset - b.span.offset)
  const found: Place[][] = []
  let end = 0
  for (const place of places) {
    const { offset, length } = place.span
    const group = found.at(-1)
    if (group && offset - end <= MAX_GAP_BYTES && offset + length - group[0]!.span.offset <= MAX_READ_BYTES)
      group.push(place)
    else found.push([place])
    end = offset + length
  }
  return found
}
