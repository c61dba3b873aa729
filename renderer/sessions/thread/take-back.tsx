/** Asks before a turn and all that follows it leave the session. */
import { useState, type ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/states.tsx'
import { useThreadCall } from '../../feed/feed-context.tsx'

export interface TakeBackDialogProps {
  threadId: string
  /** The first turn that goes. */
  turnId: string
  onClose: () => void
  onDone: () => void
}

export function TakeBackDialog({ threadId, turnId, onClose, onDone }: TakeBackDialogProps): ReactNode {
  const call = useThreadCall()
  const [failure, setFailure] = useState<string | null>(null)
  const takeBack = (): void => {
    void call('thread/revert', { threadId, beforeTurnId: turnId }).then((outcome) =>
      outcome.ok ? onDone() : setFailure(outcome.message),
    )
  }
  return (
    <Dialog title="Take back from here?" onClose={onClose}>
      <p>The session forgets this message and everything after it. Files stay as they are now.</p>
      {failure && <ErrorNote message={failure} />}
      <div className="dialog-actions">
        <Button onClick={onClose}>Keep</Button>
        <Button tone="danger" onClick={takeBack}>
          Take back
        </Button>
      </div>
    </Dialog>
  )
}
