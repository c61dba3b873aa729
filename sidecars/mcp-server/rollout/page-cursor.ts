/** Opaque cursors of pages. A cursor is only good for the list it came from. */

/** A cursor that this server did not make. */
export class BadCursor extends Error {
  override readonly name = 'BadCursor'
  constructor() {
    super('cursor: not a cursor of this list; leave it out to start from the first page')
  }
}

export function writeCursor(list: string, position: (string | number)[]): string {
  return Buffer.from(JSON.stringify([list, ...position]), 'utf8').toString('base64url')
}

/** @throws BadCursor */
export function readCursor(cursor: string, list: string, length: number): (string | number)[] {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    throw new BadCursor()
  }
  if (!Array.isArray(parts) || parts.length !== length + 1 || parts[0] !== list) throw new BadCursor()
  return parts.slice(1) as (string | number)[]
}
