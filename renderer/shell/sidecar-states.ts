import type { SidecarView } from '../../preload/api.ts'

/** One word a state, also for screen readers. */
export const SIDECAR_STATE_WORDS: Record<SidecarView['state'], string> = {
  starting: 'starting',
  ready: 'ready',
  backoff: 'down, will start again',
  failed: 'failed',
  stopped: 'stopped',
}
