/** Applies the chunks of one update to one file's lines. Pure. */
import { findBlock, FoldCache, type MatchPass } from './find-block.ts'
import { PatchError, type PatchChunk, type PatchLine } from './parse-patch.ts'
import type { TextFile } from './text-file.ts'

/** Lines [start, start+removed) of the old file became `inserted`. */
export interface TextEdit {
  start: number
  removed: number
  inserted: string[]
}

/**
 * Finds where each chunk goes. Chunks apply in order, each behind the one before.
 *
 * A chunk that fits in more than one place is refused with the line numbers, unless a header narrows
 * it to one. Context lines keep the file's own text; added lines take the file's own indentation
 * where the chunk matched only after ignoring it.
 * @throws PatchError when a header or block is missing or ambiguous
 */
export function planEdits(file: TextFile, chunks: readonly PatchChunk[], name: string): TextEdit[] {
  const folds = new FoldCache()
  const edits: TextEdit[] = []
  let position = 0
  for (const chunk of chunks) {
    const place = placeChunk(file.lines, chunk, position, folds, name)
    edits.push(...editsOf(file.lines, chunk, place))
    position = place.start + place.old.length
  }
  return edits
}

interface Place {
  start: number
  /** The old lines as found; shorter than the chunk's when a trailing blank was only layout. */
  old: string[]
  pass: MatchPass
}

function placeChunk(lines: readonly string[], chunk: PatchChunk, from: number, folds: FoldCache, name: string): Place {
  const old = chunk.lines.filter((line) => line.sign !== '+').map((line) => line.text)
  const anchors = headerPositions(lines, chunk.headers, from, folds, name)
  if (old.length === 0) return { start: insertionPoint(lines, chunk, anchors, name), old, pass: 'exact' }
  const found = findPlaces(lines, old, chunk, anchors, folds)
  if (found) {
    if (found.starts.length > 1) throw ambiguous(name, old, found.starts)
    return { start: found.starts[0]!, old, pass: found.pass }
  }
  if (old.length > 1 && old.at(-1) === '') {
    const shorter = old.slice(0, -1)
    const again = findPlaces(lines, shorter, chunk, anchors, folds)
    if (again && again.starts.length > 1) throw ambiguous(name, shorter, again.starts)
    if (again) return { start: again.starts[0]!, old: shorter, pass: again.pass }
  }
  throw new PatchError(`Failed to find expected lines in ${name}:\n${old.join('\n')}`)
}

/**
 * Positions right behind the headers. One without headers is `from` itself; with headers every way to
 * read them is a candidate, so that an ambiguous header is noticed.
 */
function headerPositions(
  lines: readonly string[],
  headers: readonly string[],
  from: number,
  folds: FoldCache,
  name: string,
): number[] {
  let positions = [from]
  for (const header of headers) {
    const next = new Set<number>()
    for (const position of positions)
      for (const start of findBlock(lines, [header], position, folds)?.starts ?? []) next.add(start + 1)
    if (next.size === 0) throw new PatchError(`Failed to find context '${header}' in ${name}`)
    positions = [...next].sort((a, b) => a - b)
  }
  return positions
}

function insertionPoint(lines: readonly string[], chunk: PatchChunk, anchors: readonly number[], name: string): number {
  if (chunk.endOfFile || chunk.headers.length === 0) return lines.length
  if (anchors.length > 1)
    throw ambiguous(
      name,
      [chunk.headers.at(-1)!],
      anchors.map((at) => at - 1),
    )
  return anchors[0]!
}

function findPlaces(
  lines: readonly string[],
  old: readonly string[],
  chunk: PatchChunk,
  anchors: readonly number[],
  folds: FoldCache,
): { pass: MatchPass; starts: number[] } | null {
  const all = findBlock(lines, old, anchors[0]!, folds)
  if (!all) return null
  const atEnd = lines.length - old.length
  if (chunk.endOfFile && all.starts.includes(atEnd)) return { pass: all.pass, starts: [atEnd] }
  if (chunk.headers.length === 0) return all
  // A header names the block the change stands in: the nearest match behind it is meant.
  const nearest = new Set<number>()
  for (const anchor of anchors) {
    const start = all.starts.find((s) => s >= anchor)
    if (start !== undefined) nearest.add(start)
  }
  return { pass: all.pass, starts: [...nearest] }
}

function ambiguous(name: string, block: readonly string[], starts: readonly number[]): PatchError {
  const shown = starts.slice(0, 10).map((s) => s + 1)
  const more = starts.length > shown.length ? ` and ${starts.length - shown.length} more` : ''
  return new PatchError(
    `Ambiguous change in ${name}: these lines stand at lines ${shown.join(', ')}${more}. ` +
      `Add more context lines or an '@@' header that only one of them follows:\n${block.join('\n')}`,
  )
}

function editsOf(lines: readonly string[], chunk: PatchChunk, place: Place): TextEdit[] {
  const indentation = place.pass === 'indentation' || place.pass === 'punctuation' ? indentMap(lines, place) : null
  const edits: TextEdit[] = []
  let at = place.start
  const end = place.start + place.old.length
  let open: TextEdit | null = null
  for (const line of chunk.lines) {
    if (line.sign === ' ') {
      open = null
      if (at < end) at++
      continue
    }
    if (!open) edits.push((open = { start: at, removed: 0, inserted: [] }))
    applyLine(open, line, indentation)
    if (line.sign === '-' && at < end) {
      open.removed++
      at++
    }
  }
  return edits
}

function applyLine(edit: TextEdit, line: PatchLine, indentation: Map<string, string> | null): void {
  if (line.sign === '+') edit.inserted.push(indentation ? reindent(line.text, indentation) : line.text)
}

const leading = (text: string): string => /^[ \t]*/.exec(text)![0]

/** What the patch wrote as indentation -> what the file has there. */
function indentMap(lines: readonly string[], place: Place): Map<string, string> {
  const map = new Map<string, string>()
  place.old.forEach((text, i) => {
    if (text.trim() !== '' && !map.has(leading(text))) map.set(leading(text), leading(lines[place.start + i]!))
  })
  return map
}

function reindent(text: string, map: Map<string, string>): string {
  const own = leading(text)
  let best = ''
  for (const written of map.keys()) if (own.startsWith(written) && written.length >= best.length) best = written
  const file = map.get(best)
  return file === undefined ? text : file + text.slice(best.length)
}

/** The file after the edits; the line ends and the missing final newline stay as they were. */
export function applyEdits(file: TextFile, edits: readonly TextEdit[]): TextFile {
  const usual = usualEnd(file)
  const lines: string[] = []
  const ends: string[] = []
  let at = 0
  for (const edit of edits) {
    for (; at < edit.start; at++) {
      lines.push(file.lines[at]!)
      ends.push(file.ends[at]!)
    }
    edit.inserted.forEach((text, i) => {
      lines.push(text)
      // A replaced line hands its own end to its replacement; further lines get the file's usual one.
      ends.push(i < edit.removed ? file.ends[edit.start + i]! || usual : usual)
    })
    at += edit.removed
  }
  for (; at < file.lines.length; at++) {
    lines.push(file.lines[at]!)
    ends.push(file.ends[at]!)
  }
  const last = lines.length - 1
  for (let i = 0; i < last; i++) if (ends[i] === '') ends[i] = usual
  if (last >= 0) ends[last] = file.ends.at(-1) === '' ? '' : ends[last] || usual
  return { bom: file.bom, lines, ends }
}

/** CRLF when most lines have it; LF otherwise and for an empty file. */
function usualEnd(file: TextFile): string {
  const crlf = file.ends.filter((end) => end === '\r\n').length
  return crlf * 2 > file.ends.length ? '\r\n' : '\n'
}
