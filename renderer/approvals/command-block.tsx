/** The command exactly as it will run: wrapped, never cut, its parts told apart, nothing hidden. */
import { useLayoutEffect, useMemo, useRef, useState, type ReactNode, type RefObject } from 'react'
import { CopyButton } from '../components/copy-button.tsx'
import { countOf, formatCount } from '../components/quantities.ts'
import { drawSlice } from '../components/visible-text.tsx'
import type { CommandNote } from './command-notes.ts'
import { quoteCommandLine } from './command-line.ts'
import { showCommand, type ShownCommand, type ShownLine } from './shown-command.ts'
import './command-block.css'

/** Beyond this the block scrolls inside, so that the answer stays in reach. */
const LINES_BEFORE_SCROLLING = 40
/** A run of blanks as wide as this is drawn, not left as empty paper behind which something stands. */
const DRAWN_BLANKS = 4

export function CommandBlock({ argv }: { argv: readonly string[] }): ReactNode {
  const shown = useMemo(() => showCommand(argv), [argv])
  const scroller = useRef<HTMLDivElement>(null)
  const hidden = useHiddenLines(scroller, shown.lines.length)
  const isScript = shown.lines.length > 1
  return (
    <div className="command-block">
      {shown.through && (
        <p className="meta">
          as a script for <code>{shown.through}</code>
          {shown.parameters && (
            <>
              {' '}
              with parameters <code>{drawSlice(shown.parameters, [], 0, shown.parameters.length)}</code>
            </>
          )}
        </p>
      )}
      <div
        ref={scroller}
        className={`command-text ${isScript ? 'numbered' : ''}`}
        role="group"
        aria-label={isScript ? `Command, ${countOf(shown.lines.length, 'line')}` : 'Command'}
        tabIndex={0}
        style={{ maxHeight: `min(${LINES_BEFORE_SCROLLING * 18 + 18}px, 55vh)` }}
      >
        {shown.lines.map((line) => (
          <CommandLine key={line.start} shown={shown} line={line} />
        ))}
      </div>
      <div className="command-foot">
        <div className="command-remarks">
          {hidden && <p className="hidden-lines">{hidden}</p>}
          {shown.marks.length > 0 && (
            <p className="hidden-count">
              {countOf(shown.marks.length, 'character')} here would be invisible or misread. Each is drawn as a box.
            </p>
          )}
          <CommandNotes notes={shown.notes} />
        </div>
        <div className="copy-buttons">
          <CopyButton text={shown.text} name="Copy the command" />
          {shown.through && (
            <CopyButton
              text={quoteCommandLine(argv)}
              label="Copy with shell"
              name="Copy with shell, the whole command"
            />
          )}
        </div>
      </div>
    </div>
  )
}

function CommandLine({ shown, line }: { shown: ShownCommand; line: ShownLine }): ReactNode {
  const { text, marks } = shown
  return (
    <div className="command-line" dir="ltr">
      {line.parts.map((part) => {
        const isGap = part.kind === 'space' && part.end - part.start >= DRAWN_BLANKS
        return (
          <span
            key={part.start}
            className={`part ${part.kind} ${isGap ? 'gap' : ''}`}
            title={isGap ? countOf(part.end - part.start, 'blank') : undefined}
          >
            {drawSlice(text, marks, part.start, part.end)}
          </span>
        )
      })}
      {line.end === line.start && '\u200b'}
    </div>
  )
}

/** Programs in the order in which they stand, so that a dangerous one is named wherever it hides. */
function CommandNotes({ notes }: { notes: readonly CommandNote[] }): ReactNode {
  const worthSaying = distinctNotes(notes)
  if (worthSaying.length === 0) return null
  const others = notes.length - notes.filter((note) => note.words !== null).length
  return (
    <ul className="command-notes" aria-label="What the programs do">
      {worthSaying.map(({ command, words }) => (
        <li key={command}>
          <code className="truncate">{command}</code> <span>{words}</span>
        </li>
      ))}
      {others > 0 && notes.length > 1 && <li className="dim">and {countOf(others, 'other program')}</li>}
    </ul>
  )
}

function distinctNotes(notes: readonly CommandNote[]): CommandNote[] {
  const seen = new Set<string>()
  return notes.filter(({ command, words }) => {
    if (words === null || seen.has(command)) return false
    seen.add(command)
    return true
  })
}

/** Says which lines are scrolled out of view; null when all can be seen. */
function useHiddenLines(scroller: RefObject<HTMLDivElement | null>, lineCount: number): string | null {
  const [words, setWords] = useState<string | null>(null)
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const measure = (): void => setWords(hiddenLinesWords(element, lineCount))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [lineCount, scroller])
  return words
}

function hiddenLinesWords(element: HTMLElement, lineCount: number): string | null {
  if (element.scrollHeight <= element.clientHeight + 1) return null
  const lines = [...element.children] as HTMLElement[]
  const top = element.scrollTop
  const bottom = top + element.clientHeight
  const above = lines.filter((line) => line.offsetTop + line.offsetHeight <= top).length
  const below = lines.filter((line) => line.offsetTop >= bottom).length
  const total = formatCount(lineCount)
  const parts = [
    above > 0 && rangeWords(1, above),
    below > 0 && rangeWords(lines.length - below + 1, lines.length),
  ].filter(Boolean)
  if (parts.length > 0)
    return `${above + below === 1 ? 'line' : 'lines'} ${parts.join(' and ')} of ${total} not shown: scroll to read`
  return bottom < element.scrollHeight - 1 ? 'the end of the line is not shown: scroll to read' : null
}

function rangeWords(first: number, last: number): string {
  return first === last ? formatCount(first) : `${formatCount(first)}–${formatCount(last)}`
}
