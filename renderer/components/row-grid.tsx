/**
 * A table of any number of equal rows: draws a screenful, moves by keyboard, keeps its head in view.
 * Focus stays on the grid and the current row is its active descendant, so that rows can come and go
 * without focus being lost.
 */
import { useCallback, useEffect, useId, useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react'
import { Icon } from './icon.tsx'
import type { PointerHold } from './use-pointer-hold.ts'
import { useColumnsWithRoom } from './columns-with-room.ts'
import { scrollToShow, useVirtualRows } from './virtual-rows.ts'
import './row-grid.css'

const ROW_PX = 32
const HEAD_PX = 28

export interface GridColumn<Row> {
  id: string
  title: string
  /** A CSS grid track, e.g. `88px` or `minmax(120px, 2fr)`. */
  track: string
  alignEnd?: boolean
  /** The title is only for screen readers. */
  hideTitle?: boolean
  /** Left out where the grid is narrower: what its rows show in less room without scrolling sideways. */
  leastGridPx?: number
  /** Set when the owner can order by this column. */
  sortable?: boolean
  cell: (row: Row, isCurrent: boolean) => ReactNode
}

export interface RowGridProps<Row> {
  label: string
  columns: readonly GridColumn<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** What a screen reader hears for a row when its cells are not enough. */
  classOf?: (row: Row) => string
  currentKey: string | null
  onCurrent: (key: string) => void
  /** Enter or a press on a row. */
  onOpen: (key: string) => void
  onEscape?: () => void
  sort?: { column: string; descending: boolean }
  onSort?: (column: string) => void
  /** Least width before the grid scrolls sideways. */
  minWidthPx?: number
  /** See `usePointerHold`. */
  pointerHandlers?: PointerHold['handlers']
  onScrolledToTop?: (atTop: boolean) => void
}

export function RowGrid<Row>(props: RowGridProps<Row>): ReactNode {
  const { rows, keyOf, currentKey, onCurrent, onScrolledToTop } = props
  const grid = useRef<HTMLDivElement>(null)
  const columns = useColumnsWithRoom(grid, props.columns)
  const idPrefix = useId()
  const range = useVirtualRows(grid, rows.length, ROW_PX, HEAD_PX)
  const currentIndex = currentKey === null ? -1 : rows.findIndex((row) => keyOf(row) === currentKey)
  const template = { gridTemplateColumns: columns.map((column) => column.track).join(' '), minWidth: props.minWidthPx }

  const reveal = useCallback(
    (index: number) => {
      const element = grid.current
      if (!element) return
      const viewPx = element.clientHeight - HEAD_PX
      const scrollPx = scrollToShow(index, { count: rows.length, rowPx: ROW_PX, scrollPx: element.scrollTop, viewPx })
      if (scrollPx !== null) element.scrollTop = scrollPx
    },
    [rows.length],
  )

  useEffect(() => {
    const element = grid.current
    if (!element || !onScrolledToTop) return
    const tell = (): void => onScrolledToTop(element.scrollTop < ROW_PX)
    element.addEventListener('scroll', tell, { passive: true })
    return () => element.removeEventListener('scroll', tell)
  }, [onScrolledToTop])

  const moveTo = (index: number): void => {
    const clamped = Math.max(0, Math.min(rows.length - 1, index))
    const row = rows[clamped]
    if (row === undefined) return
    onCurrent(keyOf(row))
    reveal(clamped)
  }

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor((event.currentTarget.clientHeight - HEAD_PX) / ROW_PX) - 1)
    const onGrid = event.target === event.currentTarget
    const moves: Record<string, number> = {
      j: currentIndex + 1,
      k: currentIndex - 1,
      ArrowDown: currentIndex + 1,
      ArrowUp: currentIndex - 1,
      PageDown: currentIndex + page,
      PageUp: currentIndex - page,
      Home: 0,
      End: rows.length - 1,
    }
    const target = moves[event.key]
    if (target !== undefined) {
      event.preventDefault()
      moveTo(target)
    } else if (event.key === 'Enter' && onGrid && currentKey !== null) {
      event.preventDefault()
      props.onOpen(currentKey)
    } else if (event.key === 'Escape' && props.onEscape) {
      event.preventDefault()
      props.onEscape()
    }
  }

  return (
    <div
      ref={grid}
      className="row-grid"
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={
        currentIndex >= range.start && currentIndex < range.end ? `${idPrefix}-${currentIndex}` : undefined
      }
      tabIndex={0}
      onKeyDown={onKeyDown}
      {...props.pointerHandlers}
    >
      <div className="row-grid-head" role="row" aria-rowindex={1} style={template}>
        {columns.map((column) => (
          <GridHead key={column.id} column={column} sort={props.sort} onSort={props.onSort} />
        ))}
      </div>
      <div className="row-grid-rows" role="presentation" style={{ height: range.totalPx, minWidth: props.minWidthPx }}>
        <div role="presentation" onPointerOver={tellCutText} style={{ transform: `translateY(${range.offsetPx}px)` }}>
          {rows.slice(range.start, range.end).map((row, offset) => {
            const index = range.start + offset
            const key = keyOf(row)
            const isCurrent = index === currentIndex
            return (
              <div
                key={key}
                id={`${idPrefix}-${index}`}
                className={`row-grid-row ${props.classOf?.(row) ?? ''}`}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={isCurrent}
                style={template}
                onClick={() => props.onOpen(key)}
              >
                {columns.map((column) => (
                  <div key={column.id} role="gridcell" className={column.alignEnd ? 'end' : undefined}>
                    {column.cell(row, isCurrent)}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** The whole text of a cell that has no room for it, where it has no better words for the pointer. */
function tellCutText({ target }: PointerEvent): void {
  const cell = (target as Element).closest<HTMLElement>('[role="gridcell"]')
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? '') : ''
}

function GridHead<Row>(props: {
  column: GridColumn<Row>
  sort: RowGridProps<Row>['sort']
  onSort: RowGridProps<Row>['onSort']
}): ReactNode {
  const { column, sort, onSort } = props
  const isSorted = sort?.column === column.id
  const direction = isSorted ? (sort.descending ? 'descending' : 'ascending') : undefined
  return (
    <div role="columnheader" aria-sort={direction} className={column.alignEnd ? 'end' : undefined}>
      {column.sortable && onSort ? (
        <button type="button" tabIndex={-1} onClick={() => onSort(column.id)} className={`sort ${direction ?? ''}`}>
          {column.title}
          {isSorted && <Icon name="down" />}
        </button>
      ) : (
        <span className={column.hideTitle ? 'visually-hidden' : undefined}>{column.title}</span>
      )}
    </div>
  )
}
