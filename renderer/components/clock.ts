/** One ticking clock for all running times, so that they change together. */
import { useSyncExternalStore } from 'react'

const TICK_MS = 1_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let nowMs = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    nowMs = Date.now()
    timer = setInterval(() => {
      nowMs = Date.now()
      for (const notify of listeners) notify()
    }, TICK_MS)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The time, renewed each second while a component shows it. */
export function useNowMs(): number {
  return useSyncExternalStore(subscribe, () => {
    // Nobody ticked while nobody listened.
    if (timer === undefined) nowMs = Date.now()
    return nowMs
  })
}

/** The time in whole steps, for what need not change each second. */
export function useCoarseNowMs(stepMs: number): number {
  return useSyncExternalStore(subscribe, () => {
    if (timer === undefined) nowMs = Date.now()
    return Math.floor(nowMs / stepMs) * stepMs
  })
}
