/**
 * The scrolling box of a transcript. Follows the end while the reader is there; elsewhere what is read stays
 * where it is, whatever comes, goes or changes its height above it.
 */
import { useEffect, useLayoutEffect, useRef, type ReactNode } from 'react'

/** Nearer to the end than this counts as reading along. */
const AT_END_PX = 80

interface Anchor {
  row: string
  /** Top of the row below the top of the box. */
  topPx: number
}

export interface ScrollTarget {
  to: 'start' | 'end' | { row: string }
  nonce: number
}

export interface TranscriptScrollerProps {
  /** The newest item is among the children, so their end is the end. */
  isAtEnd: boolean
  /** What to bring into view, once for each value of `nonce`. */
  target: ScrollTarget | null
  children: ReactNode
}

/** Rows among the children carry `data-row`. */
export function TranscriptScroller({ isAtEnd, target, children }: TranscriptScrollerProps): ReactNode {
  const element = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const anchor = useRef<Anchor | null>(null)
  const shown = useRef<number | null>(null)
  /** Where we have scrolled to: an event that reports it is not the reader's doing. */
  const ours = useRef(-1)

  useLayoutEffect(() => {
    const box = element.current
    if (!box) return
    if (target && target.nonce !== shown.current) {
      if (target.to === 'start') {
        shown.current = target.nonce
        follows.current = false
        box.scrollTop = 0
        anchor.current = anchorIn(box)
        ours.current = box.scrollTop
        return
      }
      if (target.to === 'end') {
        follows.current = true
        // What leads there may still be read; then the end is elsewhere.
        if (isAtEnd) shown.current = target.nonce
        settle(box, isAtEnd, anchor.current)
        ours.current = box.scrollTop
        return
      }
      const row = rowOf(box, target.to.row)
      if (row) {
        shown.current = target.nonce
        follows.current = false
        row.scrollIntoView({ block: 'center' })
        anchor.current = anchorIn(box)
        ours.current = box.scrollTop
        return
      }
    }
    settle(box, isAtEnd && follows.current, anchor.current)
    ours.current = box.scrollTop
  })
  useEffect(() => {
    const box = element.current
    if (!box?.firstElementChild) return
    // Rows are laid out when they come near; then everything below them is elsewhere.
    const observer = new ResizeObserver(() => {
      settle(box, isAtEnd && follows.current, anchor.current)
      ours.current = box.scrollTop
    })
    observer.observe(box.firstElementChild)
    return () => observer.disconnect()
  }, [isAtEnd])

  return (
    <div
      ref={element}
      className="page-body transcript"
      role="log"
      aria-label="Transcript"
      // What is being written is announced by its end, not letter by letter.
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: box }) => {
        // The box may have grown since; that the reader is not at its end now says nothing.
        if (Math.abs(box.scrollTop - ours.current) <= 1) return
        ours.current = -1
        follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < AT_END_PX
        anchor.current = anchorIn(box)
      }}
    >
      <div className="transcript-column">{children}</div>
    </div>
  )
}

function settle(box: HTMLElement, follows: boolean, anchor: Anchor | null): void {
  if (follows) box.scrollTop = box.scrollHeight
  else if (anchor) {
    const row = rowOf(box, anchor.row)
    if (row) box.scrollTop += topIn(box, row) - anchor.topPx
  }
}

const rowOf = (box: HTMLElement, name: string): HTMLElement | null =>
  box.querySelector(`[data-row="${CSS.escape(name)}"]`)

const topIn = (box: HTMLElement, row: HTMLElement): number =>
  row.getBoundingClientRect().top - box.getBoundingClientRect().top

/** The first row that reaches into view. */
function anchorIn(box: HTMLElement): Anchor | null {
  const rows = box.querySelectorAll<HTMLElement>('[data-row]')
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    const row = rows[middle]!
    if (topIn(box, row) + row.offsetHeight <= 0) low = middle + 1
    else high = middle
  }
  const row = rows[low]
  return row ? { row: row.dataset.row!, topPx: topIn(box, row) } : null
}
