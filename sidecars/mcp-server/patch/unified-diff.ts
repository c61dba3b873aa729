/** Unified diff hunks made from the edits themselves; nothing is compared again. */
import type { TextEdit } from './patch-text.ts'
import type { TextFile } from './text-file.ts'

/** Lines of unchanged text around a change, as in `diff -u`. */
const CONTEXT_LINES = 3
const NO_NEWLINE = '\\ No newline at end of file\n'

/** Hunks (`@@ -a,b +c,d @@`) without file headers; empty when nothing changes. */
export function unifiedHunks(before: TextFile, after: TextFile, edits: readonly TextEdit[]): string {
  let diff = ''
  let shift = 0
  for (const group of groupEdits(edits)) {
    const first = group[0]!
    const last = group.at(-1)!
    const from = Math.max(0, first.start - CONTEXT_LINES)
    const to = Math.min(before.lines.length, last.start + last.removed + CONTEXT_LINES)
    const growth = group.reduce((sum, e) => sum + e.inserted.length - e.removed, 0)
    diff += `@@ -${range(from, to - from)} +${range(from + shift, to - from + growth)} @@\n`
    let at = from
    for (const edit of group) {
      while (at < edit.start) diff += line(' ', before, at++)
      while (at < edit.start + edit.removed) diff += line('-', before, at++)
      const firstNew = edit.start + shift
      for (let i = 0; i < edit.inserted.length; i++) diff += line('+', after, firstNew + i)
      shift += edit.inserted.length - edit.removed
    }
    while (at < to) diff += line(' ', before, at++)
  }
  return diff
}

const range = (start: number, count: number): string => `${count === 0 ? start : start + 1},${count}`

const line = (sign: string, file: TextFile, index: number): string =>
  `${sign}${file.lines[index]}\n${file.ends[index] === '' ? NO_NEWLINE : ''}`

/** Edits whose context would touch belong in one hunk. */
function groupEdits(edits: readonly TextEdit[]): TextEdit[][] {
  const groups: TextEdit[][] = []
  for (const edit of edits) {
    const open = groups.at(-1)
    const previous = open?.at(-1)
    if (open && previous && edit.start - (previous.start + previous.removed) <= 2 * CONTEXT_LINES) open.push(edit)
    else groups.push([edit])
  }
  return groups
}
