import { DecodeError } from '../../protocol/decode.ts'
import type { OutputStream } from '../../protocol/host-channel.ts'
import type { PendingBytes } from './stream-text.ts'

/** A place in the output of one process. Written as text it is opaque to clients. */
export interface OutputCursor {
  /** Everything up to and with this sequence number is behind the cursor. */
  afterSeq: number
  /** Bytes of the chunk `afterSeq + 1` that are behind the cursor too. */
  offset: number
  /** Unfinished characters that a text page before this one held back. */
  pending: PendingBytes
}

export const START_OF_OUTPUT: OutputCursor = { afterSeq: 0, offset: 0, pending: {} }

const LETTERS: readonly [string, OutputStream][] = [
  ['o', 'stdout'],
  ['e', 'stderr'],
  ['p', 'pty'],
]
const FORM = /^(\d{1,15})(?:\.(\d{1,15}))?((?:~[oep](?:[0-9a-f]{2}){1,3})*)$/

/** `12`, `12.4096` or `12.4096~oe282`: sequence number, offset, unfinished bytes per stream. */
export function formatCursor(cursor: OutputCursor): string {
  const pending = LETTERS.flatMap(([letter, stream]) => {
    const bytes = cursor.pending[stream]
    return bytes && bytes.length > 0 ? [`~${letter}${Buffer.from(bytes).toString('hex')}`] : []
  })
  return `${cursor.afterSeq}${cursor.offset > 0 ? `.${cursor.offset}` : ''}${pending.join('')}`
}

/** @throws DecodeError naming `cursor` for text that no page gave out */
export function parseCursor(text: string): OutputCursor {
  const match = FORM.exec(text)
  if (!match)
    throw new DecodeError(
      'cursor',
      'not a cursor; leave it out to start at the beginning, or pass nextCursor of a page',
    )
  const pending: PendingBytes = {}
  for (const part of (match[3] ?? '').split('~').slice(1)) {
    const stream = LETTERS.find(([letter]) => letter === part[0])?.[1]
    if (stream) pending[stream] = Buffer.from(part.slice(1), 'hex')
  }
  return { afterSeq: Number(match[1]), offset: Number(match[2] ?? 0), pending }
}
