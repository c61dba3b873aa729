/** All file changes of a turn as one diff against the state at its start. */
import { createHash } from 'node:crypto'
import { relative } from 'node:path'
import type { PlannedChange } from '../patch/plan-patch.ts'
import { diffLines } from '../patch/diff-lines.ts'
import { readTextFile } from '../patch/text-file.ts'
import { unifiedHunks } from '../patch/unified-diff.ts'

interface Touched {
  before: Uint8Array | null
  after: Uint8Array | null
  mode: number | null
}

export class TurnDiff {
  private readonly files = new Map<string, Touched>()

  constructor(private readonly root: string) {}

  add(changes: readonly PlannedChange[]): void {
    for (const change of changes) {
      if (change.realMovedTo === null) this.touch(change.realPath, change.before, change.after, change.mode)
      else {
        this.touch(change.realPath, change.before, null, change.mode)
        this.touch(change.realMovedTo, null, change.after, change.mode)
      }
    }
  }

  /** A git-style diff; empty when everything is as it was. */
  get text(): string {
    return [...this.files]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, touched]) => this.fileDiff(path, touched))
      .join('')
  }

  private touch(path: string, before: Uint8Array | null, after: Uint8Array | null, mode: number | null): void {
    const first = this.files.get(path)
    this.files.set(path, { before: first ? first.before : before, after, mode: mode ?? first?.mode ?? null })
  }

  private fileDiff(path: string, { before, after, mode }: Touched): string {
    if (before === after || (before && after && Buffer.compare(before, after) === 0)) return ''
    const inside = relative(this.root, path)
    const name = inside.startsWith('..') ? path.replace(/^\/+/, '') : inside
    const octal = `100${((mode ?? 0o644) & 0o777).toString(8)}`
    const header = [`diff --git a/${name} b/${name}`]
    if (before === null) header.push(`new file mode ${octal}`)
    if (after === null) header.push(`deleted file mode ${octal}`)
    header.push(`index ${blobId(before)}..${blobId(after)}${before && after ? ` ${octal}` : ''}`)
    const body = hunks(before, after, path)
    if (body === null) return `${header.join('\n')}\nBinary files differ\n`
    header.push(
      `--- ${before === null ? '/dev/null' : `a/${name}`}`,
      `+++ ${after === null ? '/dev/null' : `b/${name}`}`,
    )
    return `${header.join('\n')}\n${body}`
  }
}

const EMPTY = Buffer.alloc(0)

function hunks(before: Uint8Array | null, after: Uint8Array | null, path: string): string | null {
  try {
    const old = readTextFile(before ?? EMPTY, path)
    const now = readTextFile(after ?? EMPTY, path)
    return unifiedHunks(old, now, diffLines(old, now))
  } catch {
    return null // Not text: the header says all there is to say.
  }
}

/** Git's name of a content (SHA-1 over "blob <size>\0<content>"). */
function blobId(content: Uint8Array | null): string {
  if (content === null) return '0'.repeat(40)
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
}
