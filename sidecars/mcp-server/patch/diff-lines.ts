/** The edits that turn one text into another (Myers' O(ND) algorithm, linear in what is equal). */
import type { TextEdit } from './patch-text.ts'
import type { TextFile } from './text-file.ts'

/** Beyond this many differing lines the middle is given as one replacement: a diff nobody reads costs no minutes. */
const MAX_DISTANCE = 2000

/** Lines count as equal when text and line end are. */
export function diffLines(before: TextFile, after: TextFile): TextEdit[] {
  const a = before.lines.map((line, i) => line + before.ends[i]!)
  const b = after.lines.map((line, i) => line + after.ends[i]!)
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let endA = a.length
  let endB = b.length
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--
    endB--
  }
  const steps = shortestPath(a.slice(start, endA), b.slice(start, endB))
  if (!steps) return [{ start, removed: endA - start, inserted: after.lines.slice(start, endB) }]
  return joinSteps(steps, start, after.lines)
}

interface Step {
  /** Positions in the cut texts before the step. */
  x: number
  y: number
  insert: boolean
}

function shortestPath(a: readonly string[], b: readonly string[]): Step[] | null {
  const max = Math.min(a.length + b.length, MAX_DISTANCE)
  const trace: Map<number, number>[] = []
  let furthest = new Map<number, number>([[1, 0]])
  for (let d = 0; d <= max; d++) {
    trace.push(new Map(furthest))
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && furthest.get(k - 1)! < furthest.get(k + 1)!)
      let x = down ? furthest.get(k + 1)! : furthest.get(k - 1)! + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      furthest.set(k, x)
      if (x >= a.length && x - k >= b.length) return walkBack(trace, a.length, b.length)
    }
    furthest = new Map(furthest)
  }
  return null
}

function walkBack(trace: readonly Map<number, number>[], endX: number, endY: number): Step[] {
  const steps: Step[] = []
  let x = endX
  let y = endY
  for (let d = trace.length - 1; d > 0; d--) {
    const furthest = trace[d]!
    const k = x - y
    const down = k === -d || (k !== d && furthest.get(k - 1)! < furthest.get(k + 1)!)
    const previousK = down ? k + 1 : k - 1
    const previousX = furthest.get(previousK)!
    const previousY = previousX - previousK
    steps.push({ x: previousX, y: previousY, insert: down })
    x = previousX
    y = previousY
  }
  return steps.reverse()
}

/** Steps that touch become one edit. */
function joinSteps(steps: readonly Step[], offset: number, newLines: readonly string[]): TextEdit[] {
  const edits: TextEdit[] = []
  for (const { x, y, insert } of steps) {
    let edit = edits.at(-1)
    if (!edit || edit.start + edit.removed !== x + offset)
      edits.push((edit = { start: x + offset, removed: 0, inserted: [] }))
    if (insert) edit.inserted.push(newLines[y + offset]!)
    else edit.removed++
  }
  return edits
}
