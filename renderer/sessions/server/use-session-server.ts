/** Which server the window's sessions live with, and whether it can be reached. */
import { useEffect, useState } from 'react'
import type { SessionServer } from '../../../sidecars/protocol/owner-threads.ts'
import { useFeed, useHostLink, useThreadCall } from '../../feed/feed-context.tsx'

/** Null until it is known, and while the MCP server is down. */
export function useSessionServer(): SessionServer | null {
  const call = useThreadCall()
  const { onThreadNews } = useHostLink()
  const isReady = useFeed((state) => state.tables.sidecars.rows.get('mcp-server')?.state === 'ready')
  const [server, setServer] = useState<SessionServer | null>(null)
  useEffect(() => {
    if (!isReady) return
    let isCurrent = true
    const stop = onThreadNews(({ method, params }) => {
      if (method === 'gatehouse/server/changed') setServer(params.server as SessionServer)
    })
    void call('gatehouse/server/read', {}).then((outcome) => isCurrent && outcome.ok && setServer(outcome.value))
    return () => {
      isCurrent = false
      stop()
      setServer(null)
    }
  }, [call, isReady, onThreadNews])
  return server
}
