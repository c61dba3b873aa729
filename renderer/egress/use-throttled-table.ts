/** The table of connections, looked at a few times a second: nobody reads faster, and deriving from 100,000 rows costs. */
import { useCallback, useRef, useSyncExternalStore } from 'react'
import type { ConnectionView } from '../../preload/api.ts'
import { useHostLink } from '../feed/feed-context.tsx'
import type { Table } from '../feed/tables.ts'

const LOOK_EVERY_MS = 250
/** With very many rows less often, so that deriving never takes most of the time. */
const ROWS_PER_MS = 100

export function useThrottledConnections(): Table<ConnectionView> {
  const { store } = useHostLink()
  const seen = useRef(store.getState().tables.connections)

  const subscribe = useCallback(
    (notify: () => void) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const look = (): void => {
        timer = undefined
        const { connections } = store.getState().tables
        if (connections === seen.current) return
        seen.current = connections
        notify()
      }
      const unsubscribe = store.subscribe(() => {
        if (store.getState().tables.connections !== seen.current)
          timer ??= setTimeout(look, Math.max(LOOK_EVERY_MS, seen.current.rows.size / ROWS_PER_MS))
      })
      look()
      return () => {
        unsubscribe()
        clearTimeout(timer)
      }
    },
    [store],
  )
  return useSyncExternalStore(subscribe, () => seen.current)
}
