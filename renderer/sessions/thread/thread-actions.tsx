/** What can be done with a whole session: interrupt, branch, shorten, name, put away. */
import { useState, type ReactNode } from 'react'
import { sessionOfThread } from '../../../sidecars/protocol/ids.ts'
import { useActions } from '../../components/actions.tsx'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { writeChord } from '../../components/key-chords.ts'
import { MenuButton } from '../../components/menu-button.tsx'
import { go, place } from '../../components/places.ts'
import { useToasts } from '../../components/toasts.tsx'
import { useInvoke, useThreadCall } from '../../feed/feed-context.tsx'
import { ReviewDialog } from './review-dialog.tsx'
import type { Transcript } from './transcript.ts'

export interface ThreadActionsProps {
  threadId: string
  title: string
  transcript: Transcript
  /** Nothing was ever said in it. */
  isEmpty: boolean
  onFind: () => void
}

export function ThreadActions({ threadId, title, transcript, isEmpty, onFind }: ThreadActionsProps): ReactNode {
  const call = useThreadCall()
  const invoke = useInvoke()
  const toasts = useToasts()
  const [asking, setAsking] = useState<'name' | 'review' | 'delete' | null>(null)
  const isWorking = transcript.activeTurnId !== null

  const tell = <T,>(
    work: Promise<{ ok: true; value: T } | { ok: false; message: string }>,
    wordsFor: (value: T) => string,
  ): void => {
    void work.then((outcome) =>
      toasts.show(outcome.ok ? { message: wordsFor(outcome.value) } : { tone: 'failure', message: outcome.message }),
    )
  }
  const interrupt = (): void => tell(invoke('sessions.interrupt', sessionOfThread(threadId)), () => 'Interrupted')
  const fork = (): void =>
    tell(call('thread/fork', { threadId, excludeTurns: true }), ({ thread }) => {
      go(place('sessions', sessionOfThread(thread.id)))
      return 'This is the fork; the other session stays as it was'
    })
  const compact = (): void => tell(call('thread/compact/start', { threadId }), () => 'Shortening the history')
  const archive = (): void =>
    tell(call('thread/archive', { threadId }), () => {
      go(place('sessions'))
      return 'Archived'
    })

  const remove = (): void => {
    setAsking(null)
    tell(call('thread/delete', { threadId }), () => {
      go(place('sessions'))
      return 'Deleted'
    })
  }

  useActions([
    ...(isWorking ? [{ id: 'interrupt', title: `Interrupt ${title}`, chord: 'Mod+.', run: interrupt }] : []),
    ...(isEmpty
      ? []
      : [
          { id: 'fork', title: 'Fork this session', run: fork },
          { id: 'compact', title: 'Shorten the history of this session', run: compact },
          { id: 'archive', title: 'Archive this session', run: archive },
        ]),
    { id: 'review', title: 'Review changes in this session', run: () => setAsking('review') },
    { id: 'rename', title: 'Rename this session', run: () => setAsking('name') },
  ])

  return (
    <>
      {isWorking && (
        <Button tone="danger" title={writeChord('Mod+.')} onClick={interrupt}>
          Interrupt
        </Button>
      )}
      <Button tone="quiet" inert={isEmpty} onClick={fork}>
        Fork
      </Button>
      <Button tone="quiet" inert={isEmpty || isWorking} onClick={compact}>
        Compact
      </Button>
      <Button tone="quiet" inert={isWorking} onClick={() => setAsking('review')}>
        Review
      </Button>
      <MenuButton
        label="More"
        acts={[
          { id: 'find', title: 'Find in this session', note: writeChord('Mod+F'), run: onFind },
          { id: 'rename', title: 'Rename', run: () => setAsking('name') },
          ...(isEmpty || isWorking ? [] : [{ id: 'archive', title: 'Archive', run: archive }]),
          ...(isWorking ? [] : [{ id: 'delete', title: 'Delete', run: () => setAsking('delete') }]),
        ]}
      />
      {asking === 'review' && <ReviewDialog threadId={threadId} onClose={() => setAsking(null)} />}
      {asking === 'delete' && (
        <Dialog title="Delete this session?" onClose={() => setAsking(null)}>
          <p>Its transcript is removed from this machine for good. Files that it changed stay as they are.</p>
          <div className="dialog-actions">
            <Button onClick={() => setAsking(null)}>Keep</Button>
            <Button tone="danger" onClick={remove}>
              Delete
            </Button>
          </div>
        </Dialog>
      )}
      {asking === 'name' && (
        <RenameDialog
          name={title}
          onClose={() => setAsking(null)}
          onName={(name) => {
            setAsking(null)
            tell(call('thread/name/set', { threadId, name }), () => 'Renamed')
          }}
        />
      )}
    </>
  )
}

function RenameDialog({
  name,
  onClose,
  onName,
}: {
  name: string
  onClose: () => void
  onName: (name: string) => void
}): ReactNode {
  const [text, setText] = useState(name)
  return (
    <Dialog title="Rename the session" onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '') onName(text.trim())
        }}
      >
        <label>
          Name
          <input className="field" value={text} maxLength={200} onChange={(event) => setText(event.target.value)} />
        </label>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" inert={text.trim() === ''} onClick={() => onName(text.trim())}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
