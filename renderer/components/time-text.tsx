/** Times and durations that keep themselves right. The exact moment is in the tooltip. */
import type { ReactNode } from 'react'
import { useNowMs } from './clock.ts'
import { formatAgo, formatDuration, formatMoment } from './quantities.ts'

/** "4 s ago". */
export function Ago({ atMs }: { atMs: number }): ReactNode {
  const nowMs = useNowMs()
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatMoment(atMs)}>
      {formatAgo(atMs, nowMs)}
    </time>
  )
}

/** "0:42", counting while `untilMs` is not known. */
export function Elapsed({ sinceMs, untilMs }: { sinceMs: number; untilMs?: number | null }): ReactNode {
  const nowMs = useNowMs()
  return <span title={`since ${formatMoment(sinceMs)}`}>{formatDuration((untilMs ?? nowMs) - sinceMs)}</span>
}
