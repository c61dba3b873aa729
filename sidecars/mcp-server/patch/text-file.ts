/** A text file taken apart so that bytes nobody asked to change stay as they are. */
import { PatchError } from './parse-patch.ts'

export interface TextFile {
  /** A UTF-8 byte order mark stood in front. */
  bom: boolean
  /** Lines without their ends. */
  lines: string[]
  /** Each line's own end: "\n", "\r\n", or "" for a last line without one. */
  ends: string[]
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Splits a file's bytes. A lone CR is data.
 * @throws PatchError when the bytes are not UTF-8 or hold a NUL (a patch would destroy such a file)
 */
export function readTextFile(bytes: Uint8Array, name: string): TextFile {
  if (bytes.includes(0)) throw new PatchError(`${name} is a binary file (it holds a NUL byte); it was not changed`)
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw new PatchError(`${name} is not UTF-8; it was not changed`)
  }
  const bom = text.startsWith('\ufeff')
  const lines: string[] = []
  const ends: string[] = []
  let from = bom ? 1 : 0
  while (from < text.length) {
    const newline = text.indexOf('\n', from)
    if (newline === -1) {
      lines.push(text.slice(from))
      ends.push('')
      break
    }
    const crlf = newline > from && text.charCodeAt(newline - 1) === 0x0d
    lines.push(text.slice(from, crlf ? newline - 1 : newline))
    ends.push(crlf ? '\r\n' : '\n')
    from = newline + 1
  }
  return { bom, lines, ends }
}

/** Joins the parts back to bytes; the inverse of {@link readTextFile}. */
export function writeTextFile(file: TextFile): Uint8Array {
  const parts: string[] = file.bom ? ['\ufeff'] : []
  for (let i = 0; i < file.lines.length; i++) parts.push(file.lines[i]!, file.ends[i]!)
  return Buffer.from(parts.join(''), 'utf8')
}
