/** Text from outside, drawn so that nothing in it can hide. */
import { Fragment, type ReactNode } from 'react'
import { findHiddenCharacters, type HiddenMark } from './hidden-characters.ts'
import './visible-text.css'

/**
 * One line of foreign text: hidden characters become boxes, direction is isolated. `code` is for
 * commands, paths and hosts, where a typographic dash is as suspicious as an invisible one.
 */
export function VisibleText({ text, code = false }: { text: string; code?: boolean }): ReactNode {
  const marks = findHiddenCharacters(text, { prose: !code })
  return <bdi className={code ? 'code' : undefined}>{drawSlice(text, marks, 0, text.length)}</bdi>
}

/** Draws `text[start, end)` with the marks (of the whole text) that begin in it. */
export function drawSlice(text: string, marks: readonly HiddenMark[], start: number, end: number): ReactNode {
  const inside = marks.filter((mark) => mark.start >= start && mark.start < end)
  if (inside.length === 0) return text.slice(start, end)
  const drawn: ReactNode[] = []
  let at = start
  for (const mark of inside) {
    if (mark.start > at) drawn.push(<Fragment key={at}>{text.slice(at, mark.start)}</Fragment>)
    drawn.push(<HiddenCharacter key={mark.start} mark={mark} character={text.slice(mark.start, mark.end)} />)
    at = mark.end
  }
  if (at < end) drawn.push(<Fragment key={at}>{text.slice(at, end)}</Fragment>)
  return drawn
}

function HiddenCharacter({ mark, character }: { mark: HiddenMark; character: string }): ReactNode {
  return (
    <span className={`hidden-character ${mark.kind}`} role="img" aria-label={`[${mark.name}]`} title={mark.name}>
      {mark.kind === 'lookalike' && <bdi>{character}</bdi>}
      {mark.label}
    </span>
  )
}
