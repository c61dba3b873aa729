/** The agents found on this machine; asked for when shown, since finding them looks at PATH. */
import { useCallback, useEffect, useState } from 'react'
import type { AgentView } from '../../preload/api.ts'
import { useInvoke } from '../feed/feed-context.tsx'
import type { FeedState } from '../feed/feed-state.ts'

/** What starts the command line in a shell on this machine. */
export const selectCommandLine = (state: FeedState): string => state.host?.commandLine ?? 'gatehouse'

export interface AgentsAnswer {
  /** Null until the answer is there. */
  agents: readonly AgentView[] | null
  failure: string | null
  refresh(): void
}

export function useAgents(): AgentsAnswer {
  const invoke = useInvoke()
  const [agents, setAgents] = useState<readonly AgentView[] | null>(null)
  const [failure, setFailure] = useState<string | null>(null)

  const refresh = useCallback(() => {
    void invoke('agents.list').then((outcome) => {
      setFailure(outcome.ok ? null : outcome.message)
      if (outcome.ok) setAgents(outcome.value)
    })
  }, [invoke])
  useEffect(refresh, [refresh])

  return { agents, failure, refresh }
}
