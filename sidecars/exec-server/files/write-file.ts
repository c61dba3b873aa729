import type { FileHandle } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { BytePath } from '../../protocol/path-uri.ts'
import { Base64Error, type Base64Text } from '../wire/base64-text.ts'
import { WireError } from '../wire/wire-error.ts'
import { openForWriting, type Reach } from './place.ts'

/** After so many steps of decoding a long content, others have their turn: 768 KiB of it are some milliseconds. */
const STEPS_IN_A_TURN = 16

/**
 * `fs/writeFile`: creates or replaces a file. Nothing is touched before the content has been found to
 * be base64 from end to end.
 */
export async function writeFile(path: BytePath, content: Base64Text, reach: Reach): Promise<void> {
  const bytes = await decoded(content)
  const file = await openForWriting(path, reach)
  try {
    const before = await file.stat()
    // Over what is there: that costs a fraction of giving the pages back and taking new ones, and needs no room
    // on a full disk. Devices such as /dev/null have no length to cut.
    await writeAll(file, bytes, 0)
    if (before.isFile() && before.size > bytes.length) await file.truncate(bytes.length)
  } finally {
    await file.close()
  }
}

async function decoded(content: Base64Text): Promise<Buffer> {
  try {
    const steps = content.decodeInSteps()
    for (;;) {
      for (let i = 0; i < STEPS_IN_A_TURN; i++) {
        const step = steps.next()
        if (step.done) return step.value
      }
      await setImmediate()
    }
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
