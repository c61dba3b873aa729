import type { SidecarView } from '../../preload/api.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { SIDECAR_WORDS } from './sidecar-words.ts'
import type { SupervisedSidecar } from '../supervisor/supervised-sidecar.ts'

/** What a client needs of its sidecar: the same object over all its lives. */
export type SidecarLink = Pick<
  SupervisedSidecar,
  'name' | 'generation' | 'view' | 'onRequest' | 'onNotification' | 'onReady' | 'onChanged' | 'request'
>

export interface ReadyOptions {
  timeoutMs: number
  signal?: AbortSignal
}

/**
 * Resolves when the sidecar is ready. Rejects with `unavailable` when it has failed for good or is not
 * ready in time, `cancelled` when the signal fires.
 */
export function whenReady(link: SidecarLink, { timeoutMs, signal }: ReadyOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: RpcError) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      dispose()
      if (error) reject(error)
      else resolve()
    }
    const look = ({ state, lastError }: SidecarView) => {
      if (state === 'ready') settle()
      else if (state === 'failed' || state === 'stopped')
        settle(
          new RpcError('unavailable', `${SIDECAR_WORDS[link.name]} is not running: ${lastError ?? 'it was stopped'}`),
        )
    }
    const onAbort = () => settle(new RpcError('cancelled', `no longer waiting for ${SIDECAR_WORDS[link.name]}`))
    const timer = setTimeout(
      () => settle(new RpcError('unavailable', `${SIDECAR_WORDS[link.name]} did not come back within ${timeoutMs} ms`)),
      timeoutMs,
    )
    const dispose = link.onChanged(look)
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted) onAbort()
    else look(link.view())
  })
}
