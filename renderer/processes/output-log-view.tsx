/** All output of a process, from the first byte that is kept, in any amount: scroll, search, count. */
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import type { ProcessView } from '../../preload/api.ts'
import { useActions } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { countOf, formatBytes, formatCount } from '../components/quantities.ts'
import { ErrorNote } from '../components/states.tsx'
import { scrollToShow, useVirtualRows } from '../components/virtual-rows.ts'
import { useInvoke } from '../feed/feed-context.tsx'
import { FindBar } from './find-bar.tsx'
import { OutputLog, type SearchProgress } from './output-log.ts'
import type { OutputRow } from './row-splitter.ts'
import './output-log-view.css'

const ROW_PX = 18
/** Typing settles before a search reads everything again. */
const SEARCH_DELAY_MS = 250

export function OutputLogView({ process }: { process: ProcessView }): ReactNode {
  const invoke = useInvoke()
  const { id, nextSeq } = process
  const scroller = useRef<HTMLDivElement>(null)
  const log = useMemo(
    () => new OutputLog((afterSeq, maxBytes) => invoke('processes.read', id, afterSeq, maxBytes)),
    [id, invoke],
  )
  const [, setVersion] = useState(0)
  const redraw = useCallback(() => setVersion((version) => version + 1), [])
  const [failure, setFailure] = useState<string | null>(null)
  const [follows, setFollows] = useState(true)
  const range = useVirtualRows(scroller, log.rowCount, ROW_PX)
  const showResult = (row: number): void => {
    setFollows(false)
    const element = scroller.current
    if (!element) return
    const geometry = { count: log.rowCount, rowPx: ROW_PX, scrollPx: element.scrollTop, viewPx: element.clientHeight }
    const scrollPx = scrollToShow(row, geometry)
    if (scrollPx !== null) element.scrollTop = scrollPx
  }
  const find = useLogSearch(log, range.start, showResult)

  useEffect(() => {
    void log.extend(nextSeq - 1, redraw).then((outcome) => {
      setFailure(outcome.ok ? null : outcome.message)
      redraw()
    })
  }, [log, nextSeq, redraw])

  useEffect(() => {
    void log.load(range.start, range.end).then((outcome) => {
      if (!outcome.ok) setFailure(outcome.message)
      redraw()
    })
  }, [log, range.start, range.end, redraw])

  const toEnd = (): void => {
    setFollows(true)
    const element = scroller.current
    if (element) element.scrollTop = element.scrollHeight
  }
  useEffect(() => {
    const element = scroller.current
    if (follows && element) element.scrollTop = range.totalPx - range.viewPx
  }, [follows, range.totalPx, range.viewPx])

  const onScroll = (): void => {
    const element = scroller.current
    if (element) setFollows(element.scrollTop + element.clientHeight >= element.scrollHeight - ROW_PX)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0
    if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    event.currentTarget.scrollTop += step * ROW_PX
  }
  const goToResult = (direction: 'next' | 'previous'): void => {
    const row = find.step(direction)
    if (row !== null) showResult(row)
  }
  useActions([
    { id: 'search', title: 'Search in all output', chord: 'Mod+F', run: find.open },
    { id: 'terminal-end', title: 'Jump to the end of the output', run: toEnd },
  ])

  const indexing = log.knownSeq < nextSeq - 1
  return (
    <div className="terminal-view">
      <div className="terminal-notes">
        {find.isOpen && (
          <FindBar
            label="Search in all output"
            results={find.results}
            progress={find.progress}
            onFind={(text, direction) => {
              if (find.look(text)) goToResult(direction)
            }}
            onClose={() => {
              find.close()
              scroller.current?.focus()
            }}
          />
        )}
        {log.droppedBytes > 0 && <p className="meta">The first {formatBytes(log.droppedBytes)} are no longer kept.</p>}
        {failure && <ErrorNote message={`The output could not be read. ${failure}`} />}
      </div>
      <div className="terminal-frame">
        <div
          ref={scroller}
          className="output-log"
          role="log"
          aria-label="All output"
          aria-live="off"
          tabIndex={0}
          onScroll={onScroll}
          onKeyDown={onKeyDown}
        >
          <div style={{ height: range.totalPx }}>
            <div style={{ transform: `translateY(${range.offsetPx}px)` }}>
              {Array.from({ length: range.end - range.start }, (_, offset) => {
                const index = range.start + offset
                return (
                  <LogRow
                    key={index}
                    number={index + 1}
                    row={log.row(index)}
                    found={find.text}
                    isCurrent={index === find.currentRow}
                  />
                )
              })}
            </div>
          </div>
        </div>
        {!follows && (
          <Button className="jump-to-end" icon="end" onClick={toEnd}>
            Jump to end
          </Button>
        )}
      </div>
      <p className="meta terminal-hint" role="status">
        {indexing ? `Reading, ${countOf(log.rowCount, 'row')} so far` : countOf(log.rowCount, 'row')},{' '}
        {formatCount(process.outputBytes)} bytes
      </p>
    </div>
  )
}

interface LogRowProps {
  number: number
  row: OutputRow | undefined
  found: string
  isCurrent: boolean
}

function LogRow({ number, row, found, isCurrent }: LogRowProps): ReactNode {
  return (
    <div className={`log-row ${row?.isError ? 'error' : ''} ${isCurrent ? 'current' : ''}`} dir="ltr">
      <span className="log-number" aria-hidden="true">
        {row?.continues ? '↳' : number}
      </span>
      <span className="log-text">{row && highlight(row.text, found)}</span>
    </div>
  )
}

function highlight(text: string, found: string): ReactNode {
  if (found === '') return text
  const parts: ReactNode[] = []
  const lower = text.toLowerCase()
  const wanted = found.toLowerCase()
  let at = 0
  for (let hit = lower.indexOf(wanted); hit >= 0; hit = lower.indexOf(wanted, at)) {
    parts.push(text.slice(at, hit), <mark key={hit}>{text.slice(hit, hit + wanted.length)}</mark>)
    at = hit + wanted.length
  }
  return [...parts, text.slice(at)]
}

interface LogSearch {
  isOpen: boolean
  open: () => void
  close: () => void
  text: string
  /** Starts to look for a new text; true when the text is the one looked for already. */
  look: (text: string) => boolean
  results: { index: number; count: number } | null
  progress: string | null
  currentRow: number | null
  /** The row of the next result, around the end; null when there is none. */
  step: (direction: 'next' | 'previous') => number | null
}

/** `onFirst` gets the first result at or after `viewRow` as soon as it is found. */
function useLogSearch(log: OutputLog, viewRow: number, onFirst: (row: number) => void): LogSearch {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [state, setState] = useState<SearchProgress | null>(null)
  const [at, setAt] = useState(-1)

  const latest = useRef({ viewRow, onFirst })
  useEffect(() => {
    latest.current = { viewRow, onFirst }
  })

  useEffect(() => {
    if (text === '') return
    const abort = new AbortController()
    const { viewRow: fromRow } = latest.current
    let isShown = false
    const onProgress = (progress: SearchProgress): void => {
      setState(progress)
      // The first result from the view on; at the end of the search the first one of all.
      const inView = progress.rows.findIndex((row) => row >= fromRow)
      const first = inView >= 0 || !progress.done ? inView : progress.rows.length > 0 ? 0 : -1
      if (isShown || first < 0) return
      isShown = true
      setAt(first)
      latest.current.onFirst(progress.rows[first] ?? 0)
    }
    const timer = setTimeout(() => void log.search(text, abort.signal, onProgress), SEARCH_DELAY_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [log, text])

  const rows = state?.rows ?? []
  return {
    isOpen,
    open: () => setOpen(true),
    close() {
      setOpen(false)
      setText('')
      setState(null)
      setAt(-1)
    },
    text,
    look(next) {
      if (next === text) return true
      setText(next)
      setState(null)
      setAt(-1)
      return false
    },
    results: state && { index: at, count: rows.length },
    progress:
      state && !state.done ? `${formatCount(rows.length)} so far, ${formatCount(state.searched)} rows searched` : null,
    currentRow: rows[at] ?? null,
    step(direction) {
      if (rows.length === 0) return null
      const next = (at + (direction === 'next' ? 1 : -1) + rows.length) % rows.length
      setAt(next)
      return rows[next] ?? null
    },
  }
}
