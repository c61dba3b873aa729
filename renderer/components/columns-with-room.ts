/** Which columns of a table have room; the others are left out instead of scrolling what matters out of view. */
import { useLayoutEffect, useState, type RefObject } from 'react'

export interface ColumnWithRoom {
  /** The least width of the table with which it is shown; none = always. */
  leastGridPx?: number
}

/** The columns for the element's width as it is now. Draws anew only when one comes or goes. */
export function useColumnsWithRoom<C extends ColumnWithRoom>(
  element: RefObject<HTMLElement | null>,
  columns: readonly C[],
): readonly C[] {
  const [step, setStep] = useState(Number.POSITIVE_INFINITY)
  const steps = [...new Set(columns.map(({ leastGridPx = 0 }) => leastGridPx))].join(' ')
  useLayoutEffect(() => {
    const measured = element.current
    if (!measured) return
    const look = (): void => setStep(stepFor(measured.clientWidth, steps.split(' ').map(Number)))
    look()
    const observer = new ResizeObserver(look)
    observer.observe(measured)
    return () => observer.disconnect()
  }, [element, steps])
  return columns.filter(({ leastGridPx = 0 }) => leastGridPx <= step)
}

/** The widest step that the width reaches. Without a layout (no width yet) everything is shown. */
export function stepFor(widthPx: number, steps: readonly number[]): number {
  if (widthPx === 0) return Number.POSITIVE_INFINITY
  return Math.max(0, ...steps.filter((step) => step <= widthPx))
}
