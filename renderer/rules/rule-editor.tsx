/** A rule being written, read by the host as it is typed: its meaning in words, or what is wrong with it. */
import { useEffect, useId, useState, type ReactNode } from 'react'
import type { Outcome, RulePreview } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { countOf } from '../components/quantities.ts'
import { ErrorNote } from '../components/states.tsx'
import { useInvoke } from '../feed/feed-context.tsx'

/** After the last key, so that half a word is not called wrong. */
const CHECK_DELAY_MS = 200

interface Reading {
  text: string
  words: string | null
  problem: string | null
  /** Past requests that it would have matched; null until they are counted. */
  matched: RulePreview['matched'] | null
}

export interface RuleEditorProps {
  initialText: string
  saveLabel: string
  /** Resolves to what went wrong, or null. */
  onSave: (text: string) => Promise<string | null>
  onCancel?: () => void
}

/** "It would have matched 12 requests of the last 30 days, 2 of them denied, such as git push." */
function matchedWords({ count, denied, examples }: RulePreview['matched']): string {
  if (count === 0) return 'No request of the last 30 days would have matched.'
  const refused = denied === 0 ? '' : `, ${denied} of them denied`
  const example = examples[0] === undefined ? '' : `, such as ${examples[0]}`
  return `It would have matched ${countOf(count, 'request')} of the last 30 days${refused}${example}.`
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
        const read = outcome.ok ? outcome.value : { words: null, problem: outcome.message }
        setReading({ text, ...read, matched: null })
        if (read.problem === null) void invoke('rules.preview', text).then(showMatched)
      })
      const showMatched = (outcome: Outcome<RulePreview>): void => {
        if (current && outcome.ok)
          setReading((shown) => (shown?.text === text ? { ...shown, matched: outcome.value.matched } : shown))
      }
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
        {text.trim() !== '' && isRead && reading.matched && ` ${matchedWords(reading.matched)}`}
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
