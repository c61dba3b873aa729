/** Writes a network rule from a connection, with Undo for ten seconds. */
import { useCallback } from 'react'
import type { ConnectionView, EgressIntent } from '../../preload/api.ts'
import { hostAndPort } from '../components/host-name.ts'
import { useToasts } from '../components/toasts.tsx'
import { useInvoke } from '../feed/feed-context.tsx'

export type EgressChoice = Omit<EgressIntent, 'connectionId'>

/** Resolves to the rule that is in force now, or null; a failure has been said already. */
export type DecideEgress = (connection: ConnectionView, choice: EgressChoice) => Promise<string | null>

export function useEgressDecision(): DecideEgress {
  const invoke = useInvoke()
  const toasts = useToasts()
  return useCallback(
    async (connection, choice) => {
      const where = choice.breadth === 'host' ? connection.host : hostAndPort(connection.host, connection.port)
      const outcome = await invoke('egress.decide', { connectionId: connection.id, ...choice })
      if (!outcome.ok) {
        toasts.show({ tone: 'failure', message: `No rule was written for ${where}. ${outcome.message}` })
        return null
      }
      const { ruleId } = outcome.value
      toasts.show({
        message: `${choice.verdict === 'allow' ? 'Allowed' : 'Denied'} ${where} ${choice.scope === 'session' ? 'for this session' : 'always'}`,
        undo: {
          label: 'Undo',
          run: () =>
            void invoke('egress.undo', ruleId).then((undone) =>
              toasts.show(
                undone.ok
                  ? { message: `The rule for ${where} is gone again` }
                  : { tone: 'failure', message: `The rule for ${where} still holds. ${undone.message}` },
              ),
            ),
        },
      })
      return ruleId
    },
    [invoke, toasts],
  )
}
