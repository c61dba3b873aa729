/** Asks what is to be reviewed, and starts it as a turn of the session. */
import { useState, type ReactNode } from 'react'
import type { ReviewTarget } from '../../../sidecars/protocol/owner-threads.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { RadioChoices } from '../../components/radio-choices.tsx'
import { ErrorNote } from '../../components/states.tsx'
import { useThreadCall } from '../../feed/feed-context.tsx'

const TARGETS = [
  { value: 'uncommittedChanges', words: 'What is not committed', wants: null },
  { value: 'baseBranch', words: 'What this branch changes', wants: 'Base branch' },
  { value: 'commit', words: 'One commit', wants: 'Commit' },
  { value: 'custom', words: 'Something else', wants: 'What to look at' },
] as const

export function ReviewDialog({ threadId, onClose }: { threadId: string; onClose: () => void }): ReactNode {
  const call = useThreadCall()
  const [type, setType] = useState<ReviewTarget['type']>('uncommittedChanges')
  const [text, setText] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const wants = TARGETS.find(({ value }) => value === type)?.wants ?? null
  const isReady = wants === null || text.trim() !== ''

  const start = (): void => {
    if (!isReady) return
    void call('review/start', { threadId, target: targetOf(type, text.trim()) }).then((outcome) =>
      outcome.ok ? onClose() : setFailure(outcome.message),
    )
  }
  return (
    <Dialog title="Review" onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault()
          start()
        }}
      >
        <fieldset className="setting">
          <legend>What to review</legend>
          <RadioChoices name="reviewTarget" choices={TARGETS} value={type} onChoose={setType} />
        </fieldset>
        {wants !== null && (
          <label>
            {wants}
            <input
              className={type === 'custom' ? 'field' : 'field code'}
              value={text}
              spellCheck={false}
              placeholder={type === 'baseBranch' ? 'main' : undefined}
              onChange={({ target }) => setText(target.value)}
            />
          </label>
        )}
        {failure && <ErrorNote message={failure} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" inert={!isReady} onClick={start}>
            Start review
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function targetOf(type: ReviewTarget['type'], text: string): ReviewTarget {
  switch (type) {
    case 'uncommittedChanges':
      return { type }
    case 'baseBranch':
      return { type, branch: text }
    case 'commit':
      return { type, sha: text }
    case 'custom':
      return { type, instructions: text }
  }
}
