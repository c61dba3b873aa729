/**
 * Waiting awake for what comes at once. Whoever sleeps in the event loop has to be woken, and on an idle machine so
 * has a processor: 20 to 60 µs on a virtual one, while a program on this machine often answers in less. So the event
 * loop goes round for a moment where such an answer is expected. Everything else is served meanwhile as always.
 */
import { availableParallelism } from 'node:os'

/** With a single processor the one who is to answer could not. */
const CAN_WAIT_AWAKE = availableParallelism() > 1

let untilMs = 0
let isAwake = false

/** Does not sleep for so many milliseconds from now on, of which a processor is busy all the while: fractions of one. */
export function stayAwake(forMs: number): void {
  if (!CAN_WAIT_AWAKE) return
  untilMs = performance.now() + forMs
  if (isAwake) return
  isAwake = true
  setImmediate(goRound)
}

function goRound(): void {
  if (performance.now() < untilMs) setImmediate(goRound)
  else isAwake = false
}
