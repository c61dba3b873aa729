/** A rule being written, read by the host as it is typed: its meaning in words, or what is wrong with it. */
import { useEffect, useId, useState, type ReactNode } from 'react'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/states.tsx'
import { useInvoke } from '../feed/feed-context.tsx'

/** After the last key, so that half a word is not called wrong. */
const CHECK_DELAY_MS = 200

interface Reading {
  text: string
  words: string | null
  problem: string | null
}

export interface RuleEditorProps {
  initialText: string
  saveLabel: string
  /** Resolves to what went wrong, or null. */
  onSave: (text: string) => Promise<string | null>
  onCancel?: () => void
}

export function RuleEditor({ initialText, saveLabel, onSave, onCancel }: RuleEditorProps): ReactNode {
  const invoke = useInvoke()
  const [text, setText] = useState(initialText)
  const [reading, setReading] = useState<Reading | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const readingId = useId()

  useEffect(() => {
    if (text.trim() === '') return
    let current = true
    const timer = setTimeout(() => {
      void invoke('rules.validate', text).then((outcome) => {
        if (!current) return
        setReading(outcome.ok ? { text, ...outcome.value } : { text, words: null, problem: outcome.message })
      })
    }, CHECK_DELAY_MS)
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [invoke, text])

  const isRead = reading?.text === text
  const ready = text.trim() !== '' && isRead && reading.problem === null
  const save = (): void => {
    void onSave(text).then((problem) => {
      setFailure(problem)
      if (problem === null && initialText === '') setText('')
    })
  }
  return (
    <div className="rule-editor">
      <textarea
        className="field code"
        rows={2}
        aria-label="Rule text"
        aria-describedby={readingId}
        placeholder='prefix_rule(pattern=["npm", "test"], decision="allow")'
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <p id={readingId} role="status" className={isRead && reading.problem ? 'rule-problem' : 'dim'}>
        {text.trim() !== '' && isRead && (reading.problem ?? reading.words)}
      </p>
      {failure && <ErrorNote message={failure} />}
      <div className="rule-editor-acts">
        <Button tone="primary" inert={!ready} onClick={save}>
          {saveLabel}
        </Button>
        {onCancel && (
          <Button tone="quiet" onClick={onCancel}>
            Cancel
          </Button>
        )}
      </div>
    </div>
  )
}
