/** What the session has used: tokens, and how full the model's context is. */
import type { ReactNode } from 'react'
import { formatCount } from '../../components/quantities.ts'
import type { ThreadTokenUsage } from '../../../sidecars/protocol/owner-threads.ts'

export function UsageLine({ usage }: { usage: ThreadTokenUsage }): ReactNode {
  const { total, last, modelContextWindow: room } = usage
  const filled = room ? Math.min(100, Math.round((last.totalTokens / room) * 100)) : null
  const parts = [
    `${formatCount(total.inputTokens)} in (${formatCount(total.cachedInputTokens)} of them cached)`,
    `${formatCount(total.outputTokens)} out (${formatCount(total.reasoningOutputTokens)} of them thought)`,
    ...(room ? [`context ${formatCount(last.totalTokens)} of ${formatCount(room)}`] : []),
  ]
  return (
    <span title={parts.join('\n')}>
      {formatCount(total.totalTokens)} tokens
      {filled !== null && `, context ${filled} % full`}
    </span>
  )
}
