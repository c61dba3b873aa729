/** Two panes with a divider that can be dragged or moved by keyboard; its place is remembered. */
import { useCallback, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react'
import './split-pane.css'

const STEP_PX = 16

export interface SplitPaneProps {
  /** Key under which the width is remembered. */
  name: string
  label: string
  /** The pane whose width is set; the other takes the rest. */
  side: 'start' | 'end'
  initialPx: number
  minPx: number
  maxPx: number
  /** Leaves the pane out and keeps the rest as it is: what is in it is not built anew. */
  folded?: boolean
  pane: ReactNode
  children: ReactNode
}

export function SplitPane({ folded = false, ...props }: SplitPaneProps): ReactNode {
  const { name, label, side, initialPx, minPx, maxPx, pane, children } = props
  const [widthPx, setWidthPx] = useRememberedWidth(name, initialPx, minPx, maxPx)

  const drag = (event: PointerEvent<HTMLDivElement>): void => {
    const divider = event.currentTarget
    divider.setPointerCapture(event.pointerId)
    const startX = event.clientX
    const direction = side === 'start' ? 1 : -1
    const move = (moved: globalThis.PointerEvent): void => setWidthPx(widthPx + (moved.clientX - startX) * direction)
    divider.addEventListener('pointermove', move)
    divider.addEventListener('lostpointercapture', () => divider.removeEventListener('pointermove', move), {
      once: true,
    })
  }

  const nudge = (event: KeyboardEvent<HTMLDivElement>): void => {
    const towardsEnd = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (towardsEnd === 0) return
    event.preventDefault()
    setWidthPx(widthPx + towardsEnd * STEP_PX * (side === 'start' ? 1 : -1))
  }

  const sized = !folded && (
    <div className="split-sized" style={{ width: widthPx }}>
      {pane}
    </div>
  )
  const divider = !folded && (
    <div
      className="split-divider"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={widthPx}
      aria-valuemin={minPx}
      aria-valuemax={maxPx}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={nudge}
    />
  )
  return (
    <div className={`split-pane ${side}`}>
      {side === 'start' && sized}
      {side === 'start' && divider}
      <div className="split-rest">{children}</div>
      {side === 'end' && divider}
      {side === 'end' && sized}
    </div>
  )
}

function useRememberedWidth(
  name: string,
  initialPx: number,
  minPx: number,
  maxPx: number,
): [number, (px: number) => void] {
  const key = `pane.${name}`
  const clamp = (px: number): number => Math.round(Math.min(maxPx, Math.max(minPx, px)))
  const [widthPx, setWidthPx] = useState(() => clamp(Number(localStorage.getItem(key)) || initialPx))
  const set = useCallback(
    (px: number) => {
      const next = Math.round(Math.min(maxPx, Math.max(minPx, px)))
      setWidthPx(next)
      localStorage.setItem(key, String(next))
    },
    [key, maxPx, minPx],
  )
  return [widthPx, set]
}
