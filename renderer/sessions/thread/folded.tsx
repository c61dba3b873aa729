/** Pieces of transcript items: what opens on demand, and lines of foreign text. */
import { useState, type ReactNode } from 'react'
import { VisibleText } from '../../components/visible-text.tsx'

/** What is folded is not drawn: outputs and diffs are long and seldom looked at. */
export function Folded({ summary, children }: { summary: ReactNode; children: ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="folded" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  )
}

/** Lines drawn at once; more of them come with a press. */
const LINES_DRAWN = 400
/** A longer line is drawn in pieces of this length, so that one line is never the work of a whole frame. */
const LINE_CHARACTERS = 8_000

export function Lines({ text, code = false }: { text: string; code?: boolean }): ReactNode {
  const [all, setAll] = useState(false)
  const lines = text.split('\n')
  const drawn = all ? lines : lines.slice(0, LINES_DRAWN)
  return (
    <div className={code ? 'lines code' : 'lines'}>
      {drawn.map((line, index) => (
        <div key={index}>
          {pieces(line).map((piece, at) => (
            <VisibleText key={at} code={code} text={piece === '' ? ' ' : piece} />
          ))}
        </div>
      ))}
      {drawn.length < lines.length && (
        <button type="button" className="link-button meta" onClick={() => setAll(true)}>
          {lines.length - drawn.length} more lines
        </button>
      )}
    </div>
  )
}

function pieces(line: string): string[] {
  if (line.length <= LINE_CHARACTERS) return [line]
  const cut: string[] = []
  for (let at = 0; at < line.length; at += LINE_CHARACTERS) cut.push(line.slice(at, at + LINE_CHARACTERS))
  return cut
}
