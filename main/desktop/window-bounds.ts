import { readFileSync, writeFileSync } from 'node:fs'

export interface Rectangle {
  x: number
  y: number
  width: number
  height: number
}
export interface WindowBounds extends Partial<Rectangle> {
  width: number
  height: number
  maximized: boolean
}

const DEFAULT: WindowBounds = { width: 1280, height: 820, maximized: false }
export const SMALLEST = { width: 420, height: 360 }
/** This much of the window must be on a display, else it is placed anew. */
const VISIBLE = 80

/**
 * Where the window was when it was last closed, fitted to the displays there are now. A missing,
 * damaged or off-screen memory gives the default: it is a comfort, not a setting.
 */
export function restoreBounds(file: string, displays: Rectangle[]): WindowBounds {
  const { x, y, width, height, maximized } = readBounds(file)
  const size = { width: Math.max(width, SMALLEST.width), height: Math.max(height, SMALLEST.height), maximized }
  if (x === undefined || y === undefined) return size
  const isVisible = displays.some(
    (d) => x + size.width >= d.x + VISIBLE && x + VISIBLE <= d.x + d.width && y >= d.y && y + VISIBLE <= d.y + d.height,
  )
  return isVisible ? { ...size, x, y } : size
}

function readBounds(file: string): WindowBounds {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    const whole = (name: string) => (Number.isSafeInteger(value[name]) ? (value[name] as number) : undefined)
    const width = whole('width')
    const height = whole('height')
    if (width === undefined || height === undefined) return DEFAULT
    const x = whole('x')
    const y = whole('y')
    return {
      width,
      height,
      maximized: value.maximized === true,
      ...(x === undefined || y === undefined ? {} : { x, y }),
    }
  } catch {
    return DEFAULT
  }
}

/** Remembers the window's place. Failing to is not worth a word to anybody. */
export function saveBounds(file: string, bounds: WindowBounds): void {
  try {
    writeFileSync(file, JSON.stringify(bounds))
  } catch {
    // The next start uses the default place.
  }
}
