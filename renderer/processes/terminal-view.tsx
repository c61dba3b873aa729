/** The live terminal of a process: attaches, follows, searches, and lets go when it is closed. */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import type { ProcessView } from '../../preload/api.ts'
import { useActions } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { writeChord } from '../components/key-chords.ts'
import { formatBytes } from '../components/quantities.ts'
import { ErrorNote } from '../components/states.tsx'
import { useToasts } from '../components/toasts.tsx'
import { useHostLink } from '../feed/feed-context.tsx'
import { FindBar } from './find-bar.tsx'
import { InputQueue } from './input-queue.ts'
import { LinkDialog } from './link-dialog.tsx'
import { flowOutput, seqBeforeTail } from './output-flow.ts'
import { isLive } from './selectors.ts'
import { TerminalScreen } from './terminal-screen.ts'
import './terminal-view.css'

/** As much as the terminal's own scrollback holds of ordinary lines. */
const TAIL_BYTES = 1_500_000
const SCREEN_READER_KEY = 'terminal.screenReader'

export interface TerminalViewProps {
  process: ProcessView
  onShowAll: () => void
}

/** A new attempt or another reading mode is a new terminal. */
export function TerminalView(props: TerminalViewProps): ReactNode {
  const [attempt, setAttempt] = useState(0)
  const [screenReader, setScreenReader] = useState(() => localStorage.getItem(SCREEN_READER_KEY) === 'on')
  const toggleScreenReader = (): void => {
    localStorage.setItem(SCREEN_READER_KEY, screenReader ? 'off' : 'on')
    setScreenReader(!screenReader)
  }
  useActions([
    {
      id: 'terminal-screen-reader',
      title: screenReader ? 'Terminal: stop reading for a screen reader' : 'Terminal: read for a screen reader',
      run: toggleScreenReader,
    },
  ])
  return (
    <LiveTerminal
      {...props}
      key={`${attempt} ${screenReader}`}
      screenReader={screenReader}
      onRetry={() => setAttempt(attempt + 1)}
    />
  )
}

interface LiveTerminalProps extends TerminalViewProps {
  screenReader: boolean
  onRetry: () => void
}

function LiveTerminal({ process, onShowAll, screenReader, onRetry }: LiveTerminalProps): ReactNode {
  const { invoke, outputPorts } = useHostLink()
  const toasts = useToasts()
  const element = useRef<HTMLDivElement>(null)
  const screen = useRef<TerminalScreen | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [atEnd, setAtEnd] = useState(true)
  const [link, setLink] = useState<string | null>(null)
  const [finding, setFinding] = useState(false)
  const [results, setResults] = useState<{ index: number; count: number } | null>(null)
  const [skippedBytes, setSkippedBytes] = useState(0)

  const interactive = process.tty && process.acceptsInput && process.state === 'running'
  const { id, tty } = process
  // What exists when the terminal opens; later growth arrives through the port.
  const atOpening = useRef(process)
  const resizable = useRef(false)
  useEffect(() => {
    resizable.current = tty && isLive(process)
  })

  useEffect(() => {
    const host = element.current
    if (!host) return
    const opening = atOpening.current
    const afterSeq = seqBeforeTail(opening, TAIL_BYTES)
    const input = new InputQueue(
      (text) => invoke('processes.write', id, text),
      (message) => toasts.show({ tone: 'failure', message: `Your input did not arrive. ${message}` }),
    )
    const resize = (columns: number, rows: number): void => {
      if (resizable.current) void invoke('processes.resize', id, columns, rows)
    }
    const terminal = new TerminalScreen(host, {
      convertLineFeeds: !tty,
      screenReader,
      onInput: (text) => {
        input.push(text)
        if (text.includes('\r')) terminal.mark('input')
      },
      onResize: resize,
      onLeave: () =>
        host
          .closest('[role="tabpanel"]')
          ?.parentElement?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')
          ?.focus(),
      onCopy: (text) => void invoke('clipboard.write', text),
      onLink: setLink,
      onAtEnd: setAtEnd,
      onSearchResults: setResults,
    })
    screen.current = terminal
    terminal.replaying = opening.nextSeq > afterSeq + 1
    resize(terminal.size.columns, terminal.size.rows)

    let detach: (() => void) | null = null
    let closed = false
    void outputPorts.open(id, afterSeq).then((outcome) => {
      if (!outcome.ok) return closed || setFailure(outcome.message)
      if (closed) return outcome.value.close()
      setFailure(null)
      setSkippedBytes(afterSeq > 0 ? Math.max(0, opening.outputBytes - TAIL_BYTES) : 0)
      detach = flowOutput(outcome.value, terminal, {
        onTaken: ({ seq, stream }) => {
          if (seq >= opening.nextSeq - 1) terminal.replaying = false
          if (stream === 'stderr') terminal.mark('error')
        },
        onFailed: setFailure,
      })
    })
    return () => {
      closed = true
      detach?.()
      screen.current = null
      terminal.dispose()
    }
  }, [id, invoke, outputPorts, screenReader, toasts, tty])

  useEffect(() => screen.current?.setInteractive(interactive), [interactive])

  const stopFinding = (): void => {
    setFinding(false)
    setResults(null)
    screen.current?.clearSearch()
    screen.current?.focus()
  }
  useActions([
    { id: 'search', title: 'Search in the terminal', chord: 'Mod+F', run: () => setFinding(true) },
    { id: 'terminal-end', title: 'Jump to the end of the output', run: () => screen.current?.scrollToEnd() },
  ])

  return (
    <div className="terminal-view">
      <div className="terminal-notes">
        {skippedBytes > 0 && (
          <p className="meta">
            The terminal shows the end. About {formatBytes(skippedBytes)} came before.{' '}
            <button type="button" className="as-link" onClick={onShowAll}>
              Show all output
            </button>
          </p>
        )}
        {finding && (
          <FindBar
            label="Search in the terminal"
            results={results}
            onFind={(text, direction) => screen.current?.find(text, direction)}
            onClose={stopFinding}
          />
        )}
        {failure && (
          <ErrorNote message={`The output cannot be shown. ${failure}`}>
            <Button onClick={onRetry}>Try again</Button>
          </ErrorNote>
        )}
      </div>
      <div className="terminal-frame">
        <div ref={element} className="terminal" role="group" aria-label="Terminal" data-testid="terminal" />
        {!atEnd && (
          <Button className="jump-to-end" icon="end" onClick={() => screen.current?.scrollToEnd()}>
            Jump to end
          </Button>
        )}
      </div>
      {interactive && (
        <p className="meta terminal-hint">
          Keys go to the program, Tab too. <kbd>{writeChord('Mod+M')}</kbd> leaves the terminal.
        </p>
      )}
      {link !== null && <LinkDialog address={link} onClose={() => setLink(null)} />}
    </div>
  )
}
