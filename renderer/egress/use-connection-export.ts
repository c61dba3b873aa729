/** Saves the connections in view as a file, where the owner chooses. */
import { useCallback } from 'react'
import type { ConnectionView } from '../../preload/api.ts'
import { countOf } from '../components/quantities.ts'
import { useToasts } from '../components/toasts.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import { connectionsAsCsv } from './connection-csv.ts'
import { connectionsAsHar } from './connection-har.ts'
import { connectionsAsJson } from './connection-json.ts'

export type ExportFormat = 'csv' | 'json' | 'har'

export function useConnectionExport(): (rows: readonly ConnectionView[], format: ExportFormat) => void {
  const invoke = useInvoke()
  const toasts = useToasts()
  const version = useFeed((state) => state.host?.version ?? '')
  return useCallback(
    (rows, format) => {
      const now = new Date()
      const text = {
        csv: () => connectionsAsCsv(rows),
        json: () => connectionsAsJson(rows, now.getTime()),
        har: () => connectionsAsHar(rows, version),
      }[format]()
      const name = `connections-${now.toISOString().slice(0, 10)}.${format}`
      void invoke('egress.saveExport', name, text).then((outcome) => {
        if (!outcome.ok) toasts.show({ tone: 'failure', message: `The connections were not saved. ${outcome.message}` })
        else if (outcome.value)
          toasts.show({ message: `Saved ${countOf(rows.length, 'connection')} to ${outcome.value.path}` })
      })
    },
    [invoke, toasts, version],
  )
}
