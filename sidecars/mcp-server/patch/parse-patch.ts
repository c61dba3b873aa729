/**
 * The text form of a patch as coding models write it (`*** Begin Patch` … `*** End Patch`).
 *
 * patch  := begin [environment] hunk+ end
 * hunk   := add | delete | update [move] chunk+
 * chunk  := ("@@" [" " header])* line+ ["*** End of File"]
 * line   := (" " | "-" | "+") text, an empty line counts as " "
 */

export interface PatchLine {
  sign: ' ' | '-' | '+'
  text: string
}
export interface PatchChunk {
  /** Lines that stand somewhere above the change, outermost first; each narrows the search. */
  headers: string[]
  lines: PatchLine[]
  /** The change must end where the file ends. */
  endOfFile: boolean
}
export type PatchHunk =
  | { kind: 'add'; path: string; lines: string[] }
  | { kind: 'delete'; path: string }
  | { kind: 'update'; path: string; movedTo: string | null; chunks: PatchChunk[] }
export interface Patch {
  environmentId: string | null
  hunks: PatchHunk[]
}

/** The patch cannot be read or does not fit the files; nothing was changed. */
export class PatchError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PatchError'
  }
}

const BEGIN = '*** Begin Patch'
const END = '*** End Patch'
const ADD = '*** Add File: '
const DELETE = '*** Delete File: '
const UPDATE = '*** Update File: '
const MOVE = '*** Move to: '
const ENVIRONMENT = '*** Environment ID: '
const END_OF_FILE = '*** End of File'

/**
 * Reads a patch. Surrounding white space and a heredoc wrapper are tolerated; a patch written with
 * CRLF throughout is read as if written with LF (the file's own line ends win anyway).
 * @throws PatchError naming the line and what was expected
 */
export function parsePatch(text: string): Patch {
  const lines = patchLines(text)
  if (lines[0]?.trim() !== BEGIN) throw new PatchError(`invalid patch: The first line of the patch must be '${BEGIN}'`)
  if (lines.length < 2 || lines.at(-1)?.trim() !== END)
    throw new PatchError(`invalid patch: The last line of the patch must be '${END}'`)
  const cursor = { at: 1, end: lines.length - 1 }
  let environmentId: string | null = null
  if (lines[1]!.startsWith(ENVIRONMENT)) {
    environmentId = lines[1]!.slice(ENVIRONMENT.length).trim()
    cursor.at++
  }
  const hunks: PatchHunk[] = []
  while (cursor.at < cursor.end) hunks.push(parseHunk(lines, cursor))
  if (hunks.length === 0) throw new PatchError('No files were modified.')
  return { environmentId, hunks }
}

function patchLines(text: string): string[] {
  let lines = text.trim().split('\n')
  if (lines.length > 1 && lines.slice(0, -1).every((line) => line.endsWith('\r')))
    lines = lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  const heredoc = /^<<-?\s*(['"]?)(\w+)\1$/.exec(lines[0] ?? '')
  if (heredoc && lines.at(-1)?.trim() === heredoc[2]) lines = lines.slice(1, -1).join('\n').trim().split('\n')
  return lines
}

interface Cursor {
  at: number
  end: number
}

function parseHunk(lines: string[], cursor: Cursor): PatchHunk {
  const header = lines[cursor.at]!
  const lineNumber = cursor.at + 1
  cursor.at++
  if (header.startsWith(ADD)) {
    const path = pathIn(header, ADD, lineNumber)
    const added: string[] = []
    while (cursor.at < cursor.end && lines[cursor.at]!.startsWith('+')) added.push(lines[cursor.at++]!.slice(1))
    return { kind: 'add', path, lines: added }
  }
  if (header.startsWith(DELETE)) return { kind: 'delete', path: pathIn(header, DELETE, lineNumber) }
  if (header.startsWith(UPDATE)) return parseUpdate(lines, cursor, pathIn(header, UPDATE, lineNumber))
  throw new PatchError(
    `Invalid patch hunk on line ${lineNumber}: '${header}' is not a valid hunk header. ` +
      `Valid headers: '${ADD}{path}', '${DELETE}{path}', '${UPDATE}{path}'`,
  )
}

function pathIn(header: string, prefix: string, lineNumber: number): string {
  const path = header.slice(prefix.length).trim()
  if (path === '') throw new PatchError(`Invalid patch hunk on line ${lineNumber}: the path is empty`)
  if (path.includes('\0')) throw new PatchError(`Invalid patch hunk on line ${lineNumber}: the path contains a NUL`)
  return path
}

const isHunkHeader = (line: string): boolean =>
  line.startsWith(ADD) || line.startsWith(DELETE) || line.startsWith(UPDATE)

function parseUpdate(lines: string[], cursor: Cursor, path: string): PatchHunk {
  let movedTo: string | null = null
  if (cursor.at < cursor.end && lines[cursor.at]!.startsWith(MOVE)) {
    movedTo = pathIn(lines[cursor.at]!, MOVE, cursor.at + 1)
    cursor.at++
  }
  const chunks: PatchChunk[] = []
  while (cursor.at < cursor.end && !isHunkHeader(lines[cursor.at]!)) {
    if (lines[cursor.at]!.trim() === '' && nothingButBlanksUntilHeader(lines, cursor)) break
    chunks.push(parseChunk(lines, cursor, path))
  }
  if (chunks.length === 0) throw new PatchError(`Update file hunk for path '${path}' is empty`)
  return { kind: 'update', path, movedTo, chunks }
}

/** Blank lines between hunks are layout, not content. */
function nothingButBlanksUntilHeader(lines: string[], cursor: Cursor): boolean {
  let at = cursor.at
  while (at < cursor.end && lines[at]!.trim() === '') at++
  if (at < cursor.end && !isHunkHeader(lines[at]!)) return false
  cursor.at = at
  return true
}

function parseChunk(lines: string[], cursor: Cursor, path: string): PatchChunk {
  const chunk: PatchChunk = { headers: [], lines: [], endOfFile: false }
  const startLine = cursor.at + 1
  while (cursor.at < cursor.end && isChunkHeader(lines[cursor.at]!)) {
    const header = lines[cursor.at++]!.slice(2).trim()
    if (header !== '') chunk.headers.push(header)
  }
  while (cursor.at < cursor.end) {
    const line = lines[cursor.at]!
    if (line.trimEnd() === END_OF_FILE) {
      chunk.endOfFile = true
      cursor.at++
      break
    }
    if (isChunkHeader(line) || isHunkHeader(line)) break
    const sign = line === '' ? ' ' : line[0]!
    if (sign !== ' ' && sign !== '-' && sign !== '+')
      throw new PatchError(
        `Invalid patch hunk on line ${cursor.at + 1}: Unexpected line found in update hunk for '${path}': '${line}'. ` +
          `Every line should start with ' ' (context), '+' (added) or '-' (removed)`,
      )
    chunk.lines.push({ sign, text: line.slice(1) })
    cursor.at++
  }
  if (chunk.lines.length === 0)
    throw new PatchError(
      `Invalid patch hunk on line ${startLine}: Update hunk for '${path}' does not contain any lines`,
    )
  return chunk
}

const isChunkHeader = (line: string): boolean => line === '@@' || line.startsWith('@@ ')
