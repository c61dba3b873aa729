/** A line for standard input, and its end. */
import { useState, type FormEvent, type ReactNode } from 'react'
import type { ProcessView } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { useToasts } from '../components/toasts.tsx'
import { useInvoke } from '../feed/feed-context.tsx'
import './stdin-line.css'

export function StdinLine({ process }: { process: ProcessView }): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const [line, setLine] = useState('')
  const [sending, setSending] = useState(false)
  if (!process.acceptsInput || process.state !== 'running') return null

  const failed = (message: string): void =>
    toasts.show({ tone: 'failure', message: `The input was not taken. ${message}` })
  const send = (event: FormEvent): void => {
    event.preventDefault()
    if (sending) return
    setSending(true)
    // A terminal's Enter is a carriage return; a pipe wants the line feed itself.
    void invoke('processes.write', process.id, `${line}${process.tty ? '\r' : '\n'}`).then((outcome) => {
      setSending(false)
      if (outcome.ok) setLine('')
      else failed(outcome.message)
    })
  }
  const endInput = (): void => {
    void invoke('processes.endInput', process.id).then((outcome) => {
      if (!outcome.ok) failed(outcome.message)
    })
  }

  return (
    <form className="stdin-line" onSubmit={send} aria-label="Standard input">
      <input
        className="field code"
        aria-label="Line for standard input"
        placeholder="Line for standard input"
        spellCheck={false}
        autoComplete="off"
        value={line}
        onChange={(event) => setLine(event.target.value)}
      />
      <button type="submit" className="button plain" aria-disabled={sending || undefined}>
        Send line
      </button>
      <Button tone="quiet" onClick={endInput}>
        End input
      </Button>
    </form>
  )
}
