/** A command of the session: one line that opens to its output, and the way to its process. */
import { useMemo, type ReactNode } from 'react'
import type { ProcessView } from '../../../preload/api.ts'
import { Chip } from '../../components/chip.tsx'
import { place, placeHref } from '../../components/places.ts'
import { formatBytes, formatSpan } from '../../components/quantities.ts'
import { Elapsed } from '../../components/time-text.tsx'
import { VisibleText } from '../../components/visible-text.tsx'
import type { ThreadItem } from '../../../sidecars/protocol/owner-threads.ts'
import { plainText } from '../../processes/plain-text.ts'
import { isLive } from '../../processes/selectors.ts'
import { Folded, Lines } from './folded.tsx'
import { wordsOfShell } from './shell-words.ts'

type CommandItem = Extract<ThreadItem, { type: 'commandExecution' }>

export interface CommandRowProps {
  item: CommandItem
  isOpen: boolean
  atMs: number | null
  /** What it runs as, while the host knows it. */
  process: ProcessView | undefined
  /** Something of its session waits for an answer. */
  isAsked: boolean
}

export function CommandRow({ item, isOpen, atMs, process, isAsked }: CommandRowProps): ReactNode {
  const isTyped = item.source === 'userShell'
  const text = wordsOfShell(item.command)
  return (
    <div className={`command-row ${process ? 'has-process' : ''}`}>
      <Folded
        summary={
          <>
            <span className="truncate">
              {isTyped && <span className="dim">You: </span>}
              <VisibleText code text={text.replaceAll(/\s*\n\s*/g, ' ⏎ ')} />
            </span>
            <CommandOutcome item={item} isOpen={isOpen} atMs={atMs} waits={isAsked && !process} />
          </>
        }
      >
        {text.includes('\n') && (
          <pre tabIndex={0} role="group" aria-label={`Command ${text.slice(0, 80)}`}>
            <Lines code text={text} />
          </pre>
        )}
        <Output item={item} name={text.slice(0, 80)} isOpen={isOpen} process={process} />
      </Folded>
      {process && (
        <a
          className="link meta"
          href={placeHref(place('processes', process.id))}
          aria-label={`${isLive(process) ? 'Live output' : 'Process'} of ${text.slice(0, 80)}`}
        >
          {isLive(process) ? 'Live output' : 'Process'}
        </a>
      )}
    </div>
  )
}

/** As the terminal would have left it: a progress bar is its last state, colours and cursor moves are gone. */
function Output({
  item,
  name,
  isOpen,
  process,
}: {
  item: CommandItem
  name: string
  isOpen: boolean
  process: ProcessView | undefined
}): ReactNode {
  const text = useMemo(
    () => (item.aggregatedOutput ?? '').split('\n').map(plainText).join('\n').replace(/\n$/, ''),
    [item.aggregatedOutput],
  )
  return (
    <>
      <pre tabIndex={0} role="group" aria-label={`Output of ${name}`}>
        <Lines code text={text || (isOpen ? 'No output yet.' : 'No output.')} />
      </pre>
      {process && process.outputBytes > (item.aggregatedOutput?.length ?? 0) + 1024 && (
        <p className="meta">
          A part of {formatBytes(process.outputBytes)}.{' '}
          <a className="link" href={placeHref(place('processes', process.id))}>
            All of it
          </a>
        </p>
      )}
    </>
  )
}

interface CommandOutcomeProps extends Pick<CommandRowProps, 'item' | 'isOpen' | 'atMs'> {
  /** It has not begun, and somebody is asked about it. */
  waits: boolean
}

function CommandOutcome({ item, isOpen, atMs, waits }: CommandOutcomeProps): ReactNode {
  if (isOpen && waits) return <Chip tone="neutral">not begun</Chip>
  if (isOpen)
    return (
      <Chip tone="neutral">
        running
        {atMs !== null && (
          <>
            {' '}
            <Elapsed sinceMs={atMs} untilMs={null} />
          </>
        )}
      </Chip>
    )
  if (item.status === 'declined') return <Chip tone="deny">denied</Chip>
  const took = item.durationMs === null ? '' : formatSpan(item.durationMs)
  if (item.status === 'completed') return <span className="meta">{took || 'done'}</span>
  if (item.status === 'inProgress') return <Chip tone="neutral">stopped</Chip>
  return (
    <Chip tone="deny">
      {item.exitCode === null ? 'failed' : item.exitCode < 0 ? 'ended by force' : `exit ${item.exitCode}`}
    </Chip>
  )
}
