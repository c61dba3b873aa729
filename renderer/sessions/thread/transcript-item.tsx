/** One item of a transcript: what was said, run, changed or called. */
import { memo, type ReactNode } from 'react'
import type { ProcessView } from '../../../preload/api.ts'
import type { ThreadItem } from '../../../sidecars/protocol/owner-threads.ts'
import { Diff } from '../../approvals/file-change-block.tsx'
import { Chip } from '../../components/chip.tsx'
import { VisibleText } from '../../components/visible-text.tsx'
import { AgentRow } from './agent-row.tsx'
import { CommandRow } from './command-row.tsx'
import { Folded, Lines } from './folded.tsx'
import { Markdown } from './markdown.tsx'
import type { TranscriptEntry } from './transcript.ts'

export interface TranscriptItemProps {
  entry: TranscriptEntry
  /** Folder of the session; paths in it are shown from there. */
  cwd?: string | null
  /** What a command runs as, while the host knows it. */
  process?: ProcessView | undefined
  /** Something of the session waits for an answer. */
  isAsked?: boolean
  /** Drops this message's turn and everything after it; absent where that is not possible now. */
  onTakeBack?: ((turnId: string) => void) | undefined
}

export const TranscriptItem = memo(function TranscriptItem({
  entry,
  cwd = null,
  process,
  isAsked = false,
  onTakeBack,
}: TranscriptItemProps): ReactNode {
  const { item, isOpen, turnId, atMs } = entry
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
      return <CommandRow item={item} isOpen={isOpen} atMs={atMs} process={process} isAsked={isAsked} />
    case 'fileChange':
      return <FileChanges item={item} cwd={cwd} />
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
      return (
        <ToolCall
          name={item.tool}
          status={item.status}
          given={item.arguments}
          got={item.contentItems}
          waitsFor="waits for the client that offers it"
        />
      )
    case 'collabAgentToolCall':
      return <AgentRow item={item} isOpen={isOpen} />
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

const KIND_WORDS = { add: 'new', update: 'changed', delete: 'deleted' } as const
const STATUS_WORDS = { inProgress: 'changing', failed: 'not changed', declined: 'denied' } as const

interface FileChangesProps {
  item: Extract<ThreadItem, { type: 'fileChange' }>
  cwd: string | null
}

function FileChanges({ item, cwd }: FileChangesProps): ReactNode {
  return (
    <div role="group" aria-label="Files changed" className="file-changes">
      {item.changes.map(({ path, kind, diff }) => (
        <Folded
          key={path}
          summary={
            <>
              <span className="truncate" title={path}>
                <VisibleText
                  code
                  text={cwd !== null && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path}
                />
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
    </div>
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
  waitsFor = 'running',
}: {
  name: string
  status: string
  given: unknown
  got: unknown
  /** Said while it has no outcome. */
  waitsFor?: string
}): ReactNode {
  return (
    <Folded
      summary={
        <>
          <VisibleText code text={name} />
          {status !== 'completed' && (
            <Chip tone={status === 'failed' ? 'deny' : 'neutral'}>{status === 'failed' ? 'failed' : waitsFor}</Chip>
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

const Note = ({ words }: { words: string }): ReactNode => (
  <p className="meta">
    <VisibleText text={words} />
  </p>
)
