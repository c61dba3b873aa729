import { open, readdir, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { fileStamp } from '../storage/keep-aside.ts'
import { parseLine } from './journal-line.ts'

/** One file of the journal: a month (UTC), split into parts when it grows. Part 1 has no number in its name. */
export interface JournalFile {
  month: string
  part: number
}

const NAME = /^journal-(\d{4}-\d{2})(?:\.(\d+))?\.jsonl$/
const NEWLINE = 0x0a
const BLOCK_BYTES = 64 * 1024

export const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7)
export const fileName = ({ month, part }: JournalFile): string =>
  `journal-${month}${part === 1 ? '' : `.${part}`}.jsonl`

function compareFiles(a: JournalFile, b: JournalFile): number {
  return a.month === b.month ? a.part - b.part : a.month < b.month ? -1 : 1
}

/** The journal's files, oldest first; other names in the folder are none of ours. */
export async function listJournal(folder: string): Promise<JournalFile[]> {
  const files: JournalFile[] = []
  for (const name of await readdir(folder)) {
    const match = NAME.exec(name)
    if (match) files.push({ month: match[1]!, part: match[2] === undefined ? 1 : Number(match[2]) })
  }
  return files.sort(compareFiles)
}

/**
 * Makes a file end with a whole line, so that the next append stands on its own. A last record that only
 * lacks its line end gets one; a torn one is cut off after its bytes were copied to `<file>.torn-<time>`.
 * Resolves with the copy's path when there is one.
 */
export async function repairTail(path: string, file: FileHandle, atMs = Date.now()): Promise<string | undefined> {
  const { size } = await file.stat()
  const lineStart = await lastLineStart(file, size)
  if (lineStart === size) return undefined
  const tail = Buffer.alloc(size - lineStart)
  await file.read(tail, 0, tail.length, lineStart)
  const text = tail.toString('utf8')
  if (text.startsWith('{"seq":') && parseLine(text)) {
    await file.appendFile('\n')
    return undefined
  }
  const aside = `${path}.torn-${fileStamp(atMs)}`
  const copy = await open(aside, 'wx', 0o600)
  try {
    await copy.writeFile(tail)
    await copy.sync()
  } finally {
    await copy.close()
  }
  await file.truncate(lineStart)
  return aside
}

/** Where the line that is not ended by a newline begins; the size itself when there is none. */
async function lastLineStart(file: FileHandle, size: number): Promise<number> {
  const block = Buffer.alloc(BLOCK_BYTES)
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - BLOCK_BYTES)
    await file.read(block, 0, end - start, start)
    const newline = block.lastIndexOf(NEWLINE, end - start - 1)
    if (newline >= 0) return start + newline + 1
    end = start
  }
  return 0
}

/** Lines of a file from byte `end` backwards, newest first, without their line ends. A torn tail is a line too. */
export async function* linesBackwards(file: FileHandle, end: number): AsyncGenerator<string> {
  // Pieces of the line that is not complete yet, last piece first.
  let pieces: Buffer[] = []
  for (let position = end; position > 0;) {
    const start = Math.max(0, position - BLOCK_BYTES)
    const block = Buffer.alloc(position - start)
    await file.read(block, 0, block.length, start)
    let lineEnd = block.length
    for (let newline = block.lastIndexOf(NEWLINE); newline >= 0;) {
      pieces.push(block.subarray(newline + 1, lineEnd))
      const line = joinReversed(pieces)
      if (line !== '') yield line
      pieces = []
      lineEnd = newline
      newline = newline === 0 ? -1 : block.lastIndexOf(NEWLINE, newline - 1)
    }
    pieces.push(block.subarray(0, lineEnd))
    position = start
  }
  const first = joinReversed(pieces)
  if (first !== '') yield first
}

const joinReversed = (pieces: Buffer[]): string =>
  (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces.toReversed())).toString('utf8')

/** Opens for reading, or `undefined` when the file is gone. */
export async function openForReading(folder: string, file: JournalFile): Promise<FileHandle | undefined> {
  try {
    return await open(join(folder, fileName(file)), 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
