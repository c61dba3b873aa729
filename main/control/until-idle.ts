import type { FeedSnapshot } from '../../preload/api.ts'
import type { ControlServer } from './control-server.ts'

export interface IdleTiming {
  /** Nobody has come yet: whoever started the host is on the way. */
  firstMs: number
  /** Everybody left: the next one may come at once, as in a script of several commands. */
  afterMs: number
  lookIntervalMs: number
}
const DEFAULT_TIMING: IdleTiming = { firstMs: 20_000, afterMs: 5_000, lookIntervalMs: 1_000 }

/**
 * Resolves with why, once the host has had nothing to do for a while: no client on the control socket, no
 * open session, no live process, no pending request. New clients are refused from then on.
 */
export function untilIdle(
  feed: { snapshot(): FeedSnapshot },
  control: Pick<ControlServer, 'clientCount' | 'clientTotal' | 'refuseClients'>,
  timing: IdleTiming = DEFAULT_TIMING,
): Promise<string> {
  return new Promise((resolve) => {
    let idleSinceMs = performance.now()
    let wasNeeded = false
    let seenClients = 0
    const timer = setInterval(() => {
      const nowMs = performance.now()
      // A client that came and went between two looks counts too.
      const hasNewClients = control.clientTotal > seenClients
      seenClients = control.clientTotal
      if (control.clientCount > 0 || hasNewClients || isBusy(feed.snapshot())) {
        idleSinceMs = nowMs
        wasNeeded = true
      }
      const patienceMs = wasNeeded ? timing.afterMs : timing.firstMs
      if (nowMs - idleSinceMs < patienceMs || !control.refuseClients()) return
      clearInterval(timer)
      resolve('nobody needs the host any more')
    }, timing.lookIntervalMs)
  })
}

/** Whether an open session, a live process or a waiting request needs the host. */
export function isBusy({ tables }: FeedSnapshot): boolean {
  return (
    Object.values(tables.sessions).some(({ closedAtMs }) => closedAtMs === null) ||
    Object.values(tables.processes).some(({ state }) => state === 'starting' || state === 'running') ||
    Object.values(tables.approvals).some(({ state }) => state === 'pending')
  )
}
