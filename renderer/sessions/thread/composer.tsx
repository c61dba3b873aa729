/** Where the owner speaks to a session: sends, steers, queues, or runs a shell command of their own. */
import { useId, useState, type KeyboardEvent, type ReactNode } from 'react'
import type { QueuedWords } from '../../../sidecars/protocol/owner-threads.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { matchesChord, writeChord } from '../../components/key-chords.ts'
import { ErrorNote } from '../../components/states.tsx'
import { VisibleText } from '../../components/visible-text.tsx'
import { useThreadCall } from '../../feed/feed-context.tsx'
import type { Transcript } from './transcript.ts'

export interface ComposerProps {
  threadId: string
  transcript: Transcript
  /** Words were taken: what becomes of them stands at the end. */
  onSent: () => void
}

export function Composer({ threadId, transcript, onSent }: ComposerProps): ReactNode {
  const call = useThreadCall()
  const [text, setText] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const [said, setSaid] = useState<string | null>(null)
  const stateId = useId()
  const { activeTurnId } = transcript
  const isShell = text.startsWith('!')

  /** The words stay in the field until they are taken. */
  const run = (work: Promise<{ ok: boolean; message?: string }>, words: string | null): void => {
    void work.then((outcome) => {
      setFailure(outcome.ok ? null : (outcome.message ?? 'It was not taken.'))
      setSaid(outcome.ok ? words : null)
      if (!outcome.ok) return
      setText((now) => (now === text ? '' : now))
      onSent()
    })
  }
  const input = [{ type: 'text' as const, text: text.trim() }]
  const send = (): void => {
    if (text.trim() === '') return
    if (isShell) {
      const command = text.slice(1).trim()
      if (command !== '') run(call('thread/shellCommand', { threadId, command }), null)
    } else if (activeTurnId !== null)
      run(
        call('turn/steer', { threadId, input, expectedTurnId: activeTurnId }),
        'Taken: the turn reads it before its next step.',
      )
    else run(call('turn/start', { threadId, input }), null)
  }
  const queue = (): void => {
    if (text.trim() !== '' && !isShell) run(call('thread/queue/add', { threadId, input }), null)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.nativeEvent.isComposing) return
    if (matchesChord(event.nativeEvent, 'Mod+Enter')) {
      event.preventDefault()
      queue()
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      send()
    }
  }
  return (
    <section className="composer" aria-label="Composer">
      {failure && <ErrorNote message={failure} />}
      <Queue threadId={threadId} queue={transcript.queue} isPaused={transcript.isQueuePaused} />
      <p id={stateId} className="meta" role="status" aria-label="What Enter does">
        {said !== null && activeTurnId !== null && !isShell ? said : stateWords(isShell, activeTurnId !== null)}
      </p>
      <div className="composer-row">
        <textarea
          className="field"
          rows={Math.min(10, Math.max(2, text.split('\n').length))}
          aria-label="Message"
          aria-describedby={stateId}
          placeholder="Say what to do, or ! and a shell command"
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setSaid(null)
          }}
          onKeyDown={onKeyDown}
        />
        <Button tone="primary" inert={text.trim() === ''} onClick={send}>
          {isShell ? 'Run' : activeTurnId === null ? 'Send' : 'Steer'}
        </Button>
        <Button inert={text.trim() === '' || isShell} title={writeChord('Mod+Enter')} onClick={queue}>
          Queue
        </Button>
      </div>
    </section>
  )
}

function stateWords(isShell: boolean, isWorking: boolean): string {
  if (isShell) return 'Enter runs this in your shell, with your own rights. The session hears the result.'
  if (isWorking)
    return `A turn is running. Enter adds your words to it; ${writeChord('Mod+Enter')} queues them for the next one.`
  return 'Nothing is running. Enter starts a turn.'
}

function Queue({
  threadId,
  queue,
  isPaused,
}: {
  threadId: string
  queue: readonly QueuedWords[]
  isPaused: boolean
}): ReactNode {
  const call = useThreadCall()
  const [failure, setFailure] = useState<string | null>(null)
  if (queue.length === 0) return null
  const tell = (work: Promise<{ ok: true } | { ok: false; message: string }>): void =>
    void work.then((outcome) => setFailure(outcome.ok ? null : outcome.message))
  const start = (queuedSubmissionId: string): void => tell(call('thread/queue/start', { threadId, queuedSubmissionId }))
  return (
    <ul className="composer-queue" aria-label={isPaused ? 'Queue, paused until you send something' : 'Queue'}>
      {queue.map(({ id, input }) => (
        <li key={id}>
          <span className="meta">{isPaused ? 'paused' : 'next'}</span>
          <span className="truncate">
            <VisibleText text={input.map(({ text }) => text).join(' ')} />
          </span>
          {isPaused && (
            <Button tone="quiet" onClick={() => start(id)}>
              Send now
            </Button>
          )}
          <IconButton
            name="Take out of the queue"
            icon="cross"
            onClick={() => tell(call('thread/queue/delete', { threadId, queuedSubmissionId: id }))}
          />
        </li>
      ))}
      {failure && (
        <li>
          <ErrorNote message={failure} />
        </li>
      )}
    </ul>
  )
}
