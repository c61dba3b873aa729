/** The last hour, minute by minute: allowed, asked, blocked. Drag, or use the arrows, to choose a span. */
import { useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react'
import { formatCount } from '../components/quantities.ts'
import { CHART_MINUTES, type MinuteCounts } from './selectors.ts'
import './traffic-chart.css'

const MINUTE_MS = 60_000
const HEIGHT = 64
const BAR = 10
const GAP = 2
const WIDTH = CHART_MINUTES * (BAR + GAP)

export interface Span {
  fromMs: number
  toMs: number
}

export interface TrafficChartProps {
  minutes: readonly MinuteCounts[]
  span: Span | null
  onSpan: (span: Span | null) => void
}

export function TrafficChart({ minutes, span, onSpan }: TrafficChartProps): ReactNode {
  const chart = useRef<SVGSVGElement>(null)
  const [anchor, setAnchor] = useState<number | null>(null)
  const [cursor, setCursor] = useState<number | null>(null)
  const peak = Math.max(1, ...minutes.map((minute) => minute.allowed + minute.asked + minute.blocked))

  const indexAt = (event: PointerEvent): number => {
    const box = chart.current?.getBoundingClientRect()
    if (!box) return 0
    const at = Math.floor(((event.clientX - box.left) / box.width) * CHART_MINUTES)
    return Math.max(0, Math.min(CHART_MINUTES - 1, at))
  }
  const choose = (a: number, b: number): void => {
    const first = minutes[Math.min(a, b)]
    const last = minutes[Math.max(a, b)]
    if (first && last) onSpan({ fromMs: first.atMs, toMs: last.atMs + MINUTE_MS })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      const next = Math.max(0, Math.min(CHART_MINUTES - 1, (cursor ?? CHART_MINUTES) + step))
      setCursor(next)
      const from = event.shiftKey ? (anchor ?? cursor ?? next) : next
      setAnchor(from)
      choose(from, next)
    } else if (event.key === 'Escape' && span) {
      event.stopPropagation()
      setCursor(null)
      setAnchor(null)
      onSpan(null)
    }
  }

  const total = (kind: 'allowed' | 'asked' | 'blocked'): number =>
    minutes.reduce((sum, minute) => sum + minute[kind], 0)
  const isChosen = (minute: MinuteCounts): boolean => !span || (minute.atMs >= span.fromMs && minute.atMs < span.toMs)
  return (
    <figure className="traffic-chart">
      <figcaption>
        <span className="meta">Last hour</span>
        <Legend kind="allowed" count={total('allowed')} />
        <Legend kind="asked" count={total('asked')} />
        <Legend kind="blocked" count={total('blocked')} />
      </figcaption>
      <svg
        ref={chart}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="slider"
        tabIndex={0}
        aria-label="Choose a span of the last hour: arrows move, Shift with arrows widens, Escape clears"
        aria-valuemin={0}
        aria-valuemax={CHART_MINUTES - 1}
        aria-valuenow={cursor ?? CHART_MINUTES - 1}
        aria-valuetext={spanWords(span)}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setAnchor(indexAt(event))
          setCursor(null)
        }}
        onPointerMove={(event) => {
          if (anchor !== null && event.buttons === 1) choose(anchor, indexAt(event))
        }}
        onPointerUp={(event) => {
          if (anchor !== null) choose(anchor, indexAt(event))
          setAnchor(null)
        }}
      >
        <defs>
          <pattern id="blocked-hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="4" height="4" className="bar-blocked-ground" />
            <rect width="2" height="4" className="bar-blocked-stripe" />
          </pattern>
        </defs>
        {minutes.map((minute, index) => (
          <MinuteBar key={minute.atMs} minute={minute} x={index * (BAR + GAP)} peak={peak} dim={!isChosen(minute)} />
        ))}
        <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} className="chart-base" />
      </svg>
    </figure>
  )
}

function MinuteBar({
  minute,
  x,
  peak,
  dim,
}: {
  minute: MinuteCounts
  x: number
  peak: number
  dim: boolean
}): ReactNode {
  // A single connection among thousands is still drawn.
  const height = (count: number): number => (count === 0 ? 0 : Math.max(2, (count / peak) * (HEIGHT - 4)))
  let y = HEIGHT - 1
  return (
    <g className={dim ? 'dim-bar' : undefined}>
      {(['allowed', 'asked', 'blocked'] as const).map((kind) => {
        const h = height(minute[kind])
        y -= h
        return h > 0 && <rect key={kind} x={x} y={y} width={BAR} height={h} className={`bar-${kind}`} />
      })}
    </g>
  )
}

function Legend({ kind, count }: { kind: 'allowed' | 'asked' | 'blocked'; count: number }): ReactNode {
  return (
    <span className="legend">
      <svg width="10" height="10" aria-hidden="true">
        <rect width="10" height="10" className={`bar-${kind}`} />
      </svg>
      {formatCount(count)} {kind}
    </span>
  )
}

export function spanWords(span: Span | null): string {
  if (!span) return 'the whole hour'
  const clock = (atMs: number): string => {
    const at = new Date(atMs)
    return `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`
  }
  return `${clock(span.fromMs)}–${clock(span.toMs)}`
}
