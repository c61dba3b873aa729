/** A hidden page gets no animation frames; it still has to take in what arrives, or its queue grows without end. */
const HIDDEN_PAGE_FALLBACK_MS = 250

/** Runs something once, at the next animation frame or soon after where there are no frames. Returns a canceller. */
export type Schedule = (run: () => void) => () => void

export const onNextFrame: Schedule = (run) => {
  const once = (): void => {
    cancel()
    run()
  }
  const frame = requestAnimationFrame(once)
  const timer = setTimeout(once, HIDDEN_PAGE_FALLBACK_MS)
  const cancel = (): void => {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
  }
  return cancel
}
