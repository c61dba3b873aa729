/** Which rows of a long list of equal rows are in view. Holds any number of rows at the cost of a screenful. */
import { useLayoutEffect, useState, type RefObject } from 'react'

/** Rows drawn beyond each edge, so that fast scrolling meets no blank. */
const OVERSCAN = 8
/** Before the list has been measured (and where there is no layout at all, as in tests). */
const ASSUMED_HEIGHT_PX = 640
/** Chromium stops laying out reliably near 2^25 px; beyond this the scroll range is compressed. */
const MAX_SCROLL_HEIGHT_PX = 16_000_000

export interface VirtualRange {
  /** First row to draw and the one after the last. */
  start: number
  end: number
  /** Height of the whole list and offset of the first drawn row. */
  totalPx: number
  offsetPx: number
}

export interface VirtualGeometry {
  count: number
  rowPx: number
  scrollPx: number
  viewPx: number
}

/** Pure geometry of the above. */
export function virtualRange({ count, rowPx, scrollPx, viewPx }: VirtualGeometry): VirtualRange {
  const fullPx = count * rowPx
  const totalPx = Math.min(fullPx, MAX_SCROLL_HEIGHT_PX)
  const maxScrollPx = Math.max(1, totalPx - viewPx)
  const scroll = Math.min(Math.max(0, scrollPx), maxScrollPx)
  // In a compressed list a pixel of scroll stands for more than a pixel of rows.
  const virtualPx = totalPx === fullPx ? scroll : (scroll / maxScrollPx) * (fullPx - viewPx)
  const first = Math.floor(virtualPx / rowPx)
  const start = Math.max(0, first - OVERSCAN)
  const end = Math.min(count, first + Math.ceil(viewPx / rowPx) + 1 + OVERSCAN)
  return { start, end, totalPx, offsetPx: Math.max(0, scroll - (virtualPx - start * rowPx)) }
}

/** Where to scroll so that `index` is wholly in view; null when it is already. */
export function scrollToShow(index: number, { count, rowPx, scrollPx, viewPx }: VirtualGeometry): number | null {
  const fullPx = count * rowPx
  const totalPx = Math.min(fullPx, MAX_SCROLL_HEIGHT_PX)
  const scale = fullPx <= viewPx ? 1 : Math.max(1, totalPx - viewPx) / Math.max(1, fullPx - viewPx)
  const virtualPx = scrollPx / scale
  const top = index * rowPx
  if (top < virtualPx) return top * scale
  if (top + rowPx > virtualPx + viewPx) return (top + rowPx - viewPx) * scale
  return null
}

/** The range in view of a scrolling element whose first `headPx` are covered; renewed as it scrolls or changes size. */
export function useVirtualRows(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowPx: number,
  headPx = 0,
): VirtualRange & { viewPx: number } {
  const [view, setView] = useState({ scrollPx: 0, viewPx: ASSUMED_HEIGHT_PX })

  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const measure = (): void => {
      const next = {
        scrollPx: element.scrollTop,
        viewPx: element.clientHeight > headPx ? element.clientHeight - headPx : ASSUMED_HEIGHT_PX,
      }
      setView((last) => (last.scrollPx === next.scrollPx && last.viewPx === next.viewPx ? last : next))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [headPx, scroller])

  return { ...virtualRange({ count, rowPx, ...view }), viewPx: view.viewPx }
}
