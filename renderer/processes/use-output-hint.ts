/** What the last words of a failed process say about the network, when they say something. */
import { useEffect, useState } from 'react'
import type { ProcessView } from '../../preload/api.ts'
import { networkHint } from '../egress/network-hints.ts'
import { useInvoke } from '../feed/feed-context.tsx'

const CHUNKS = 20
const MAX_BYTES = 32 * 1024

export function useOutputHint({ id, exitCode, nextSeq }: ProcessView): string | null {
  const invoke = useInvoke()
  const [hint, setHint] = useState<string | null>(null)
  const hasFailed = exitCode !== undefined && exitCode !== null && exitCode !== 0
  useEffect(() => {
    if (!hasFailed) return
    let isCurrent = true
    void invoke('processes.read', id, Math.max(0, nextSeq - CHUNKS), MAX_BYTES).then((outcome) => {
      if (!isCurrent || !outcome.ok) return
      const bytes = outcome.value.chunks.map((chunk) => chunk.bytes)
      const decoder = new TextDecoder()
      setHint(networkHint(bytes.map((part) => decoder.decode(part, { stream: true })).join('')))
    })
    return () => {
      isCurrent = false
      setHint(null)
    }
  }, [hasFailed, id, invoke, nextSeq])
  return hint
}
