/** Bytes between the thread and its owner, a power of two: so much is read before anybody has taken it. */
export const RING_BYTES = 256 * 1024
/**
 * So much is offered at once while more is coming. Smaller pieces are more messages; larger ones leave the
 * client idle first and then, while it takes one in, the terminal without a processor, on a machine of two.
 */
const OFFER_BYTES = 16 * 1024
/** Below this the ring is full: a read gives less than 4 KiB, and one of a few bytes costs as much. */
const ROOM_BYTES = 4 * 1024
/** The flood is over when so many reads in a row found nothing. Each has waited for what was on its way. */
const EMPTY_READS = 6

/** Places in the shared words. WRITTEN, OFFERED and TAKEN are places in the ring, so they cannot run over. */
export const STATE = 0
/** Rung by the owner after every change of what the thread looks at while it reads. */
export const BELL = 1
export const FD = 2
/** Where the next byte goes; the thread's. Bytes before it are whole. */
export const WRITTEN = 3
/** Up to here it is worth taking; the thread's. */
export const OFFERED = 4
/** From here on nothing is overwritten; the owner's. */
export const TAKEN = 5
export const WORDS = 6

/** The values of STATE. The owner sets READING and STOPPING, the thread IDLE. */
export const STARTING = 0
export const IDLE = 1
export const READING = 2
export const STOPPING = 3

/**
 * What {@link FloodThread} runs. As text, because a thread made from text needs no file: none that a bundle
 * would have to carry, an archive of the app to give out, or a test to build first.
 *
 * It looks at STATE before every read and touches no descriptor once it has set IDLE. A read never blocks for
 * long: the descriptor does not wait for more to be printed, only for what the system has on its way.
 */
export const FLOOD_THREAD_SCRIPT = `
'use strict'
const { readSync } = require('node:fs')
const { words, ring } = require('node:worker_threads').workerData
const { load, store, notify, wait } = Atomics
// Finding nothing is an error that is made anew each time.
Error.stackTraceLimit = 0

store(words, ${STATE}, ${IDLE})
for (;;) {
  while (load(words, ${STATE}) === ${IDLE}) wait(words, ${STATE}, ${IDLE})
  readFlood(load(words, ${FD}))
  store(words, ${STATE}, ${IDLE})
  notify(words, ${STATE})
}

function readFlood(fd) {
  let written = load(words, ${WRITTEN})
  let offered = written
  const offer = () => store(words, ${OFFERED}, offered = written)
  for (let emptyReads = 0; emptyReads < ${EMPTY_READS}; ) {
    // Before everything that is looked at: what changes later rings again.
    const bell = load(words, ${BELL})
    if (load(words, ${STATE}) !== ${READING}) break
    const room = ${RING_BYTES - 1} - ((written - load(words, ${TAKEN})) & ${RING_BYTES - 1})
    if (room < ${ROOM_BYTES}) {
      offer()
      wait(words, ${BELL}, bell)
      continue
    }
    const bytesRead = readNow(fd, written, Math.min(room, ${RING_BYTES} - written))
    if (bytesRead === 'over') break
    emptyReads = bytesRead === 0 ? emptyReads + 1 : 0
    written = (written + bytesRead) & ${RING_BYTES - 1}
    // With every read, so that nothing is lost with the thread.
    store(words, ${WRITTEN}, written)
    if (bytesRead === 0 || ((written - offered) & ${RING_BYTES - 1}) >= ${OFFER_BYTES}) offer()
  }
  offer()
}

function readNow(fd, at, length) {
  try {
    return readSync(fd, ring, at, length, null) || 'over'
  } catch (error) {
    return error.code === 'EAGAIN' ? 0 : 'over'
  }
}
`
