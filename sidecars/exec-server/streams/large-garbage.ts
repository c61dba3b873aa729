import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Less than this is the collector's own business. */
const WORTH_BYTES = 8 * 1024 * 1024
/** It is collected when things have become quieter, and not more often than this. */
const DELAY_MS = 250

let droppedBytes = 0
let timer: NodeJS.Timeout | undefined
let collect: (() => void) | undefined

/**
 * Tells that large buffers are of no more use.
 *
 * The collector looks at our small heap, sees little to do and lets a hundred megabytes of buffers lie.
 * That is not only memory: a start on a terminal copies the page tables of all of it, and takes three
 * times as long. So it is asked to look, once, after they were dropped; with a small heap that takes a
 * few milliseconds.
 */
export function dropped(bytes: number): void {
  droppedBytes += bytes
  if (droppedBytes < WORTH_BYTES || timer) return
  timer = setTimeout(() => {
    timer = undefined
    droppedBytes = 0
    collect ??= collector()
    collect()
  }, DELAY_MS).unref()
}

/** Node gives a program no other way to its collector. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('gc') as () => void
  } catch {
    // A runtime that does not let its flags be set after the start, such as Electron's.
    return () => {}
  }
}
