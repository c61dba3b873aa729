/** Copies exact text through the host. */
import { useEffect, useState, type ReactNode } from 'react'
import { useInvoke } from '../feed/feed-context.tsx'
import { Button } from './button.tsx'

const SAID_MS = 2_000

export interface CopyButtonProps {
  text: string
  /** "Copy", or what it copies where that is not plain. */
  label?: string
  /** Names the subject for screen readers: "Copy the command". */
  name: string
}

export function CopyButton({ text, label = 'Copy', name }: CopyButtonProps): ReactNode {
  const invoke = useInvoke()
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null)
  useEffect(() => {
    if (!outcome) return
    const timer = setTimeout(() => setOutcome(null), SAID_MS)
    return () => clearTimeout(timer)
  }, [outcome])
  return (
    <Button
      tone="quiet"
      icon={outcome === 'copied' ? 'check' : 'copy'}
      aria-label={outcome ? undefined : name}
      title={name}
      onClick={() => void invoke('clipboard.write', text).then(({ ok }) => setOutcome(ok ? 'copied' : 'failed'))}
    >
      <span aria-live="polite">{outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Not copied' : label}</span>
    </Button>
  )
}
