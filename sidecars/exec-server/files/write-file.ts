import type { FileHandle } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { BytePath } from '../../protocol/path-uri.ts'
import { Base64Error, type Base64Text } from '../wire/base64-text.ts'
import { WireError } from '../wire/wire-error.ts'
import { openForWriting, type Reach } from './place.ts'

/** Content up to this size is decoded in one go. */
const WHOLE_CONTENT_BYTES = 16 * 1024 * 1024
const BLOCK_BYTES = 3 * 256 * 1024

/**
 * `fs/writeFile`: creates or replaces a file. Nothing is touched before the content has been found to
 * be base64 from end to end.
 */
export async function writeFile(path: BytePath, content: Base64Text, reach: Reach): Promise<void> {
  const blocks = await checkedBlocks(content)
  const file = await openForWriting(path, reach)
  try {
    await truncate(file)
    let offset = 0
    for (const block of blocks) offset += await writeAll(file, block, offset)
  } finally {
    await file.close()
  }
}

async function checkedBlocks(content: Base64Text): Promise<Iterable<Buffer>> {
  try {
    if (content.decodedBytes <= WHOLE_CONTENT_BYTES) return [content.decode()]
    for (const _ of content.blocks(BLOCK_BYTES)) await setImmediate()
    return content.blocks(BLOCK_BYTES)
  } catch (error) {
    if (!(error instanceof Base64Error)) throw error
    throw new WireError('invalidRequest', `fs/writeFile requires valid base64 dataBase64: ${error.message}`)
  }
}

/** Devices such as /dev/null have no length to cut. */
export async function truncate(file: FileHandle): Promise<void> {
  if ((await file.stat()).isFile()) await file.truncate(0)
}

/** Writes all of `bytes` at `offset`; returns their number. */
export async function writeAll(file: FileHandle, bytes: Buffer, offset: number): Promise<number> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, offset + written)
    written += bytesWritten
  }
  return bytes.length
}
