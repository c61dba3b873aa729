import { open, rename, rm } from 'node:fs/promises'
import type { ProcessReadView } from '../../preload/api.ts'
import { PlainText } from './plain-text.ts'

const PIECE_BYTES = 1024 * 1024

/** Reads output with seq > afterSeq, oldest first; no chunks and no gap means "nothing more now". */
export type ReadOutput = (afterSeq: number, maxBytes: number) => Promise<ProcessReadView>

/**
 * Writes all output kept of one process to `path`: `raw` byte for byte, `text` without escape
 * sequences and with a line for every range that is no longer kept. The file appears whole or, on an
 * error, not at all. Returns its size in bytes.
 */
export async function saveOutput(read: ReadOutput, path: string, format: 'raw' | 'text'): Promise<number> {
  const partial = `${path}.gatehouse-part`
  const file = await open(partial, 'w', 0o600)
  let sizeBytes = 0
  try {
    const plain = new PlainText()
    const write = async (piece: Uint8Array) => {
      await file.writeFile(piece)
      sizeBytes += piece.byteLength
    }
    let afterSeq = 0
    for (;;) {
      const { chunks, gap } = await read(afterSeq, PIECE_BYTES)
      if (gap && format === 'text') await write(encode(`\n[${gap.bytes} bytes are no longer kept]\n`))
      for (const { bytes } of chunks) await write(format === 'raw' ? bytes : encode(plain.push(bytes)))
      const last = chunks.at(-1)?.seq ?? gap?.toSeq
      if (last === undefined || last <= afterSeq) break
      afterSeq = last
    }
    if (format === 'text') await write(encode(plain.end()))
    await file.close()
    await rename(partial, path)
    return sizeBytes
  } catch (error) {
    await file.close()
    await rm(partial, { force: true })
    throw error
  }
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
