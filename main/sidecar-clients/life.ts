import type { SidecarLink } from './sidecar-link.ts'

/** A life of a sidecar ended; `reason` is a clause for people. */
export type GenerationEnd = (generation: number, reason: string) => void

/**
 * Tells once for each life that was ready that it is over. Nothing is told for a start that never
 * became ready: nobody depends on it.
 */
export function watchGenerations(link: SidecarLink, words: string, onEnd: GenerationEnd): () => void {
  let live: number | undefined
  const disposeReady = link.onReady((_result, generation) => (live = generation))
  const disposeChanged = link.onChanged(({ state, generation, lastError }) => {
    if (live === undefined || (state === 'ready' && generation === live)) return
    const ended = live
    live = undefined
    onEnd(ended, lastError === null || state === 'stopped' ? `${words} stopped` : `${words} ${lastError}`)
  })
  return () => {
    disposeReady()
    disposeChanged()
  }
}
