/** What comes from elsewhere: a foreign agent's own tool, and the form of an MCP server. */
import type { ReactNode } from 'react'
import type { Subject } from '../../preload/api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { findHiddenCharacters } from '../components/hidden-characters.ts'
import { drawSlice, VisibleText } from '../components/visible-text.tsx'

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
export function ElicitationBlock({ subject }: { subject: Elicitation }): ReactNode {
  return (
    <figure className="foreign-block quotation">
      <figcaption className="meta">
        Written by the MCP server <VisibleText text={subject.serverName} />, not by Gatehouse
      </figcaption>
      <blockquote>
        <VisibleText text={subject.message} />
      </blockquote>
      <JsonBlock value={subject.schema} label="What it asks for" />
    </figure>
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
