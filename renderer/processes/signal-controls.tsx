/** Signals as words, each naming whom it hits. */
import { useState, type ReactNode } from 'react'
import type { MemberView, ProcessView } from '../../preload/api.ts'
import { commandText, shorten } from '../approvals/subject-words.ts'
import { useActions } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { writeChord } from '../components/key-chords.ts'
import { countOf } from '../components/quantities.ts'
import { ErrorNote } from '../components/states.tsx'
import { useToasts } from '../components/toasts.tsx'
import { useInvoke } from '../feed/feed-context.tsx'
import { MemberList } from './member-list.tsx'
import { targetWords } from './member-tree.ts'
import { isLive } from './selectors.ts'
import './signal-controls.css'

type Signal = 'interrupt' | 'terminate' | 'kill' | 'quit' | 'hangup' | 'stop' | 'continue'

const SIGNALS: readonly { signal: Signal; words: string; does: string; danger: boolean }[] = [
  { signal: 'interrupt', words: 'Interrupt', does: 'as Ctrl+C in a terminal (SIGINT)', danger: false },
  {
    signal: 'terminate',
    words: 'Terminate, then kill after 2 s',
    does: 'asks to end (SIGTERM), then SIGKILL',
    danger: true,
  },
  { signal: 'kill', words: 'Kill at once', does: 'nothing is saved (SIGKILL)', danger: true },
  { signal: 'stop', words: 'Pause', does: 'holds it still (SIGSTOP)', danger: false },
  { signal: 'continue', words: 'Continue', does: 'after a pause (SIGCONT)', danger: false },
  { signal: 'hangup', words: 'Hang up', does: 'as when its terminal closes (SIGHUP)', danger: false },
  { signal: 'quit', words: 'Quit', does: 'ends, often with a dump (SIGQUIT)', danger: true },
]

export function SignalControls({
  process,
  members,
}: {
  process: ProcessView
  members: readonly MemberView[]
}): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const [open, setOpen] = useState(false)
  const [failure, setFailure] = useState<string | null>(null)
  // Shown as stopping until the exit is reported, not until the call returns.
  const [stopping, setStopping] = useState(false)
  const live = isLive(process)
  const target = targetWords(members, shorten(commandText(process.argv), 40))

  const send = (signal: Signal, words: string): void => {
    setFailure(null)
    setStopping(signal === 'terminate' || signal === 'kill')
    void invoke('processes.signal', process.id, signal).then((outcome) => {
      if (outcome.ok) {
        setOpen(false)
        toasts.show({ message: `${words}: sent to ${targetWords(outcome.value, target)}` })
      } else {
        setStopping(false)
        setFailure(outcome.message)
        if (!open) toasts.show({ tone: 'failure', message: `${target} was not reached. ${outcome.message}` })
      }
    })
  }
  const interrupt = (): void => (members.length > 1 ? setOpen(true) : send('interrupt', 'Interrupt'))
  useActions(live ? [{ id: 'interrupt', title: `Interrupt ${target}`, chord: 'Mod+.', run: interrupt }] : [])

  if (!live) return null
  return (
    <>
      <Button
        onClick={() => send('interrupt', 'Interrupt')}
        title={`${target}  ${writeChord('Mod+.')}`}
        aria-description={target}
      >
        Interrupt
      </Button>
      <Button
        tone="danger"
        inert={stopping}
        onClick={() => send('terminate', 'Terminate')}
        title={`${target}: SIGTERM, then SIGKILL after 2 s`}
        aria-description={target}
      >
        {stopping ? 'Stopping' : members.length > 1 ? 'Stop process tree' : 'Stop process'}
      </Button>
      <Button aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Signals
      </Button>
      {open && (
        <Dialog
          title={`What a signal hits: ${countOf(Math.max(1, members.length), 'process', 'processes')}`}
          onClose={() => setOpen(false)}
        >
          {members.length > 0 ? <MemberList members={members} /> : <p className="dim">{target}</p>}
          {failure && <ErrorNote message={failure} />}
          <ul className="signal-list">
            {SIGNALS.map(({ signal, words, does, danger }) => (
              <li key={signal}>
                <Button
                  tone={danger ? 'danger' : 'plain'}
                  onClick={() => send(signal, words)}
                  aria-description={target}
                >
                  {words}
                </Button>
                <span className="meta">{does}</span>
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </>
  )
}
