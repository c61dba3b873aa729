/** Saves the connections in view as CSV, where the owner chooses. */
import { useCallback } from 'react'
import type { ConnectionView } from '../../preload/api.ts'
import { countOf } from '../components/quantities.ts'
import { useToasts } from '../components/toasts.tsx'
import { useInvoke } from '../feed/feed-context.tsx'
import { connectionsAsCsv } from './connection-csv.ts'

export function useCsvExport(): (rows: readonly ConnectionView[]) => void {
  const invoke = useInvoke()
  const toasts = useToasts()
  return useCallback(
    (rows) => {
      const day = new Date().toISOString().slice(0, 10)
      void invoke('egress.saveExport', `connections-${day}.csv`, connectionsAsCsv(rows)).then((outcome) => {
        if (!outcome.ok) toasts.show({ tone: 'failure', message: `The connections were not saved. ${outcome.message}` })
        else if (outcome.value)
          toasts.show({ message: `Saved ${countOf(rows.length, 'connection')} to ${outcome.value.path}` })
      })
    },
    [invoke, toasts],
  )
}
