/** `view_image`: shows the model an image file of this machine. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolHandler } from '../tool-call.ts'
import { needText } from '../tool-arguments.ts'

const MAX_IMAGE_BYTES = 20 * 1024 * 1024
const SIGNATURES: readonly { type: string; starts: readonly number[]; at?: number }[] = [
  { type: 'image/png', starts: [0x89, 0x50, 0x4e, 0x47] },
  { type: 'image/jpeg', starts: [0xff, 0xd8, 0xff] },
  { type: 'image/gif', starts: [0x47, 0x49, 0x46, 0x38] },
  { type: 'image/webp', starts: [0x57, 0x45, 0x42, 0x50], at: 8 },
]

export function viewImageTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: true,
    run: async (call, turn) => {
      const path = resolve(turn.settings.cwd, needText(argumentsOf(call), 'path'))
      const url = await imageUrl(path)
      const item = { type: 'imageView' as const, id: call.callId, path }
      thread.finishItem(turn.id, item, thread.beginItem(turn.id, item))
      return { content: [{ type: 'input_image', image_url: url }], success: true }
    },
  }
}

/** @throws ToolFailure when it is no regular file, too large, or no image by its first bytes */
export async function imageUrl(path: string): Promise<string> {
  let file
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw new ToolFailure(`unable to locate image at ${path}: ${(error as Error).message}`)
  }
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new ToolFailure(`image path ${path} is not a file`)
    if (stat.size > MAX_IMAGE_BYTES)
      throw new ToolFailure(`${path} has ${stat.size} bytes; images over ${MAX_IMAGE_BYTES} bytes are not attached`)
    const bytes = await file.readFile()
    const kind = SIGNATURES.find(({ starts, at = 0 }) => starts.every((byte, i) => bytes[at + i] === byte))
    if (!kind) throw new ToolFailure(`${path} is not a PNG, JPEG, GIF or WebP image`)
    return `data:${kind.type};base64,${bytes.toString('base64')}`
  } finally {
    await file.close()
  }
}
