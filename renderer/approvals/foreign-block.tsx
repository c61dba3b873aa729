/** What comes from elsewhere: a foreign agent's own tool, and the form of an MCP server. */
import { useState, type ReactNode } from 'react'
import type { Subject } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { ErrorNote } from '../components/states.tsx'
import { findHiddenCharacters } from '../components/hidden-characters.ts'
import { drawSlice, VisibleText } from '../components/visible-text.tsx'
import { useInvoke } from '../feed/feed-context.tsx'

type ToolUse = Extract<Subject, { kind: 'toolUse' }>
type Elicitation = Extract<Subject, { kind: 'elicitation' }>

/** The agent runs this tool itself; Gatehouse only answers. */
export function ToolUseBlock({ subject }: { subject: ToolUse }): ReactNode {
  return (
    <div className="foreign-block">
      <p>
        <VisibleText code text={subject.toolName} />{' '}
        <span className="dim">with this input. The agent runs it itself.</span>
      </p>
      <JsonBlock value={subject.input} label={`Input of ${subject.toolName}`} />
    </div>
  )
}

/** Drawn as a quotation with its sender, so that it cannot pass for a question of ours. */
export function ElicitationBlock({ subject, children }: { subject: Elicitation; children: ReactNode }): ReactNode {
  return (
    <figure className="foreign-block quotation">
      <figcaption className="meta">
        Written by the MCP server <VisibleText text={subject.serverName} />, not by Gatehouse
      </figcaption>
      <blockquote>
        <VisibleText text={subject.message} />
      </blockquote>
      {subject.url !== undefined && <Visit url={subject.url} />}
      {children}
    </figure>
  )
}

/** The session's own questions; `children` are their fields. */
export function QuestionBlock({ children }: { children: ReactNode }): ReactNode {
  return <div className="foreign-block">{children}</div>
}

/** Main shows the address once more before it opens anything, and opens https only. */
function Visit({ url }: { url: string }): ReactNode {
  const invoke = useInvoke()
  const [failure, setFailure] = useState<string | null>(null)
  const open = (): void =>
    void invoke('shell.openExternal', url).then((outcome) => setFailure(outcome.ok ? null : outcome.message))
  return (
    <>
      <p className="visit">
        <VisibleText code text={url} />
        <Button onClick={open}>Open in the browser</Button>
      </p>
      {failure && <ErrorNote message={`It was not opened: ${failure}.`} />}
    </>
  )
}

function JsonBlock({ value, label }: { value: unknown; label: string }): ReactNode {
  const text = JSON.stringify(value, null, 2) ?? 'nothing'
  const marks = findHiddenCharacters(text, { allowLineBreaksAndTabs: true })
  return (
    <div className="command-block">
      <div
        className="command-text"
        role="group"
        aria-label={label}
        tabIndex={0}
        style={{ maxHeight: 'min(738px, 55vh)' }}
      >
        <div className="command-line" dir="ltr">
          {drawSlice(text, marks, 0, text.length)}
        </div>
      </div>
      <div className="command-foot">
        <div className="command-remarks" />
        <CopyButton text={text} name={`Copy: ${label}`} />
      </div>
    </div>
  )
}
