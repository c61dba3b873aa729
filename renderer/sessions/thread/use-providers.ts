/** The model servers of the configuration. */
import { useCallback, useEffect, useState } from 'react'
import { useFeed, useThreadCall, type ThreadCall } from '../../feed/feed-context.tsx'

export interface Providers {
  /** Ids that can be chosen, built-in ones included. */
  ids: readonly string[]
  /** What new sessions use; null when nobody has chosen one. */
  chosen: string | null
  model: string | null
}

interface Reading {
  /** Null until it has been read once. */
  providers: Providers | null
  problem: string | null
}

async function readProviders(call: ThreadCall): Promise<Reading> {
  const [config, list] = await Promise.all([call('config/read', {}), call('modelProvider/list', {})])
  if (!config.ok) return { providers: null, problem: config.message }
  if (!list.ok) return { providers: null, problem: list.message }
  const { model_provider: chosen, model } = config.value.config
  return {
    providers: {
      ids: list.value.data.map(({ id }) => id),
      chosen: typeof chosen === 'string' ? chosen : null,
      model: typeof model === 'string' ? model : null,
    },
    problem: null,
  }
}

export function useProviders(): Reading & { refresh: () => void } {
  const call = useThreadCall()
  const isReady = useFeed((state) => state.tables.sidecars.rows.get('mcp-server')?.state === 'ready')
  const [reading, setReading] = useState<Reading>({ providers: null, problem: null })
  useEffect(() => {
    if (!isReady) return
    let isCurrent = true
    void readProviders(call).then((read) => isCurrent && setReading(read))
    return () => {
      isCurrent = false
    }
  }, [call, isReady])
  const refresh = useCallback(() => void readProviders(call).then(setReading), [call])
  return { ...reading, refresh }
}
