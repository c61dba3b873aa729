/** One item of a transcript: what was said, run, changed or called. */
import { memo, useState, type ReactNode } from 'react'
import type { ThreadItem } from '../../../sidecars/protocol/owner-threads.ts'
import { Diff } from '../../approvals/file-change-block.tsx'
import { Chip } from '../../components/chip.tsx'
import { formatDuration } from '../../components/quantities.ts'
import { VisibleText } from '../../components/visible-text.tsx'
import { Markdown } from './markdown.tsx'
import type { TranscriptEntry } from './transcript.ts'

export interface TranscriptItemProps {
  entry: TranscriptEntry
  /** Drops this message's turn and everything after it; absent where that is not possible now. */
  onTakeBack?: ((turnId: string) => void) | undefined
}

export const TranscriptItem = memo(function TranscriptItem({ entry, onTakeBack }: TranscriptItemProps): ReactNode {
  const { item, isOpen, turnId } = entry
  switch (item.type) {
    case 'userMessage':
      return (
        <article className="said you" aria-label="You">
          <Lines text={item.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')} />
          {onTakeBack && (
            <button type="button" className="link-button meta" onClick={() => onTakeBack(turnId)}>
              Take back from here
            </button>
          )}
        </article>
      )
    case 'agentMessage':
      return (
        <article className="said" aria-label="Gatehouse" aria-busy={isOpen || undefined}>
          <Markdown text={item.text} />
        </article>
      )
    case 'reasoning':
      return item.summary.length === 0 ? null : (
        <Folded summary="Thought">
          <Markdown text={item.summary.join('\n\n')} />
        </Folded>
      )
    case 'commandExecution':
      return <CommandRow item={item} isOpen={isOpen} />
    case 'fileChange':
      return <FileChanges item={item} />
    case 'mcpToolCall':
      return (
        <ToolCall
          name={`${item.server} ${item.tool}`}
          status={item.status}
          given={item.arguments}
          got={item.error?.message ?? item.result?.content}
        />
      )
    case 'dynamicToolCall':
      return <ToolCall name={item.tool} status={item.status} given={item.arguments} got={item.contentItems} />
    case 'plan':
      return (
        <Folded summary="Plan">
          <Markdown text={item.text} />
        </Folded>
      )
    case 'webSearch':
      return <Note words={`Searched the web: ${item.query}`} />
    case 'imageView':
      return <Note words={`Looked at ${item.path}`} />
    case 'contextCompaction':
      return <Note words="The history before this point was shortened for the model." />
    case 'enteredReviewMode':
      return <Note words={`Review: ${item.review}`} />
    case 'exitedReviewMode':
      return (
        <article className="said" aria-label="Review">
          <Markdown text={item.review} />
        </article>
      )
  }
})

type CommandItem = Extract<ThreadItem, { type: 'commandExecution' }>

function CommandRow({ item, isOpen }: { item: CommandItem; isOpen: boolean }): ReactNode {
  const isTyped = item.source === 'userShell'
  const text = shellText(item.command)
  return (
    <Folded
      summary={
        <>
          <span className="truncate">
            {isTyped && <span className="dim">You: </span>}
            <VisibleText code text={text} />
          </span>
          <CommandOutcome item={item} isOpen={isOpen} />
        </>
      }
    >
      <pre tabIndex={0} role="region" aria-label={`Output of ${text.slice(0, 80)}`}>
        <Lines code text={item.aggregatedOutput || 'No output.'} />
      </pre>
    </Folded>
  )
}

function CommandOutcome({ item, isOpen }: { item: CommandItem; isOpen: boolean }): ReactNode {
  if (isOpen) return <Chip tone="neutral">running</Chip>
  if (item.status === 'declined') return <Chip tone="deny">denied</Chip>
  const took = item.durationMs === null ? '' : formatDuration(item.durationMs)
  if (item.status === 'completed') return <span className="meta">{took || 'done'}</span>
  return <Chip tone="deny">{item.exitCode === null ? 'failed' : `exit ${item.exitCode}`}</Chip>
}

/** `bash -lc 'what the model wrote'` is shown as what the model wrote. */
function shellText(command: string): string {
  const inner = /^\S*sh -l?c '([\s\S]*)'$/.exec(command)?.[1]
  if (inner !== undefined) return inner.replaceAll(`'\\''`, "'")
  return /^\S*sh -l?c ([^\s'"]+)$/.exec(command)?.[1] ?? command
}

const KIND_WORDS = { add: 'new', update: 'changed', delete: 'deleted' } as const
const STATUS_WORDS = { inProgress: 'changing', failed: 'not changed', declined: 'denied' } as const

function FileChanges({ item }: { item: Extract<ThreadItem, { type: 'fileChange' }> }): ReactNode {
  return (
    <section aria-label="Files changed" className="file-changes">
      {item.changes.map(({ path, kind, diff }) => (
        <Folded
          key={path}
          summary={
            <>
              <span className="truncate">
                <VisibleText code text={path} />
              </span>
              <Chip tone={item.status === 'completed' || item.status === 'inProgress' ? 'neutral' : 'deny'}>
                {item.status === 'completed' ? KIND_WORDS[kind.type] : STATUS_WORDS[item.status]}
              </Chip>
            </>
          }
        >
          <Diff path={path} text={kind.type === 'update' ? diff : withSigns(diff, kind.type === 'add' ? '+' : '-')} />
        </Folded>
      ))}
    </section>
  )
}

const withSigns = (content: string, sign: string): string =>
  content
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => sign + line)
    .join('\n')

function ToolCall({
  name,
  status,
  given,
  got,
}: {
  name: string
  status: string
  given: unknown
  got: unknown
}): ReactNode {
  return (
    <Folded
      summary={
        <>
          <VisibleText code text={name} />
          {status !== 'completed' && (
            <Chip tone={status === 'failed' ? 'deny' : 'neutral'}>{status === 'failed' ? 'failed' : 'running'}</Chip>
          )}
        </>
      }
    >
      <Lines code text={JSON.stringify(given, null, 2) ?? ''} />
      {got !== null && got !== undefined && (
        <Lines code text={typeof got === 'string' ? got : JSON.stringify(got, null, 2)} />
      )}
    </Folded>
  )
}

/** What is folded is not drawn: outputs and diffs are long and seldom looked at. */
function Folded({ summary, children }: { summary: ReactNode; children: ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="folded" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  )
}

const Note = ({ words }: { words: string }): ReactNode => (
  <p className="meta">
    <VisibleText text={words} />
  </p>
)

function Lines({ text, code = false }: { text: string; code?: boolean }): ReactNode {
  return (
    <div className={code ? 'lines code' : 'lines'}>
      {text.split('\n').map((line, index) => (
        <div key={index}>
          <VisibleText code={code} text={line === '' ? ' ' : line} />
        </div>
      ))}
    </div>
  )
}
