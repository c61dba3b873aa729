/**
 * Reads a thread's turns as the JSON text that a client gets.
 *
 * Files of this program hold items in the protocol's form already, so a thread of 50,000 items need not
 * be taken apart and put together again: an item's text is checked and copied. Whatever is not exactly
 * in that form is read as records, line by line or, where items depend on each other, as a whole.
 */
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'
import type { Turn } from '../../protocol/app-server/thread.ts'
import { readTextChunks, type TextChunk } from './read-text-chunks.ts'
import { readThread } from './read-thread.ts'
import { parseLine, type RecordPayload, type RolloutRecord } from './rollout-record.ts'
import type { HistoryBase, StoredThread } from './stored-thread.ts'
import { TurnProjection } from './turn-projection.ts'

export interface TurnText {
  turn: Omit<Turn, 'items'>
  /** The items' JSON (UTF-8) with commas between them, in pieces. */
  items: Buffer[]
}

/** @param findPath where the file of a thread (a base) stands; null when it is gone */
export async function readTurnTexts(
  thread: StoredThread,
  findPath: (base: HistoryBase) => Promise<string | null>,
): Promise<TurnText[]> {
  const copied = thread.base ? null : await copyTurnTexts(thread.path)
  if (copied) return copied
  const { projection } = await readThread(thread, findPath, 'turns')
  return projection.turns.map(({ items, ...turn }) => ({
    turn,
    items: [Buffer.from(items.map((item) => JSON.stringify(item)).join(','), 'utf8')],
  }))
}

/** Null when items have to be read to be put together, e.g. one that is told twice. */
async function copyTurnTexts(path: string): Promise<TurnText[] | null> {
  const copier = new TurnTextCopier()
  for await (const chunk of readTextChunks(path)) if (!copier.take(chunk)) return null
  return copier.turns()
}

/** From behind the ordinal to the item, in the lines of one turn. */
const BEFORE_ITEM =
  /,"type":"event_msg","payload":\{"type":"item_completed","thread_id":"[^"\\\x00-\x1f]*","turn_id":"([^"\\\x00-\x1f]*)","item":/y
/**
 * An item whose members are all plain values, and what follows it in its line. This is what makes a copy
 * safe: the text is proven to be JSON, so that a damaged line cannot spoil the whole answer.
 */
const PLAIN_ITEM =
  /\{"type":"(?!userMessage)[a-z]\w*","id":"[^"\\\x00-\x1f]+"(?:,"(?!startedAtMs|completedAtMs)\w+":(?:null|true|false|-?(?:0|[1-9]\d*)|\[\]|"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"))*(?:,"startedAtMs":(?:0|[1-9]\d*),"completedAtMs":(?:0|[1-9]\d*))?\},"started_at_ms":(?:0|[1-9]\d*),"completed_at_ms":(?:0|[1-9]\d*)\}\}\n/y
/** Up to what tells the kind of a line. */
const LINE_HEAD = /\{"timestamp":"[^"\\\x00-\x1f]*","ordinal":(?:0|[1-9]\d*)(?=,)/y
const STARTED = ',"started_at_ms":'
const COMPLETED = ',"completed_at_ms":'
const OWN_COMPLETED = ',"completedAtMs":'
/** Milliseconds since 1970 have as many until the year 2286. */
const TIME_DIGITS = 13
const LAST_MEMBER = OWN_COMPLETED.length + TIME_DIGITS + 1
const ID = '"id":"'
const KIND = ',"type":"'
const EVENT = 'e'.charCodeAt(0)
const QUOTE = '"'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)
/** A longer line is not worth a trick. */
const MAX_COPIED = 256 * 1024

class TurnTextCopier {
  private readonly projection = new TurnProjection()
  private readonly copied = new Map<string, CopiedItems>()
  private readonly touched = new Set<CopiedItems>()
  /** The turn that the last copied item belonged to, and what stands before its items in their lines. */
  private current: { items: CopiedItems; beforeItem: string } | null = null

  /** Takes whole lines; false when the thread cannot be copied. */
  take({ text: chunk, bytes }: TextChunk): boolean {
    for (let start = 0; start < chunk.length;) {
      const newline = chunk.indexOf('\n', start)
      const end = newline === -1 ? chunk.length : newline
      LINE_HEAD.lastIndex = start
      const kind = LINE_HEAD.test(chunk) ? LINE_HEAD.lastIndex : null
      const done = kind !== null && (isForTheModel(chunk, start, kind, end) || this.copyItem(chunk, kind, end))
      if (!done && !this.read(chunk, start, end)) return false
      start = end + 1
    }
    for (const items of this.touched) items.settle(chunk, bytes)
    this.touched.clear()
    return true
  }

  /** Null when an item was told twice: then the later one has to take the place of the earlier one. */
  turns(): TurnText[] | null {
    for (const items of this.copied.values()) if (items.haveRepeats()) return null
    return this.projection.turns.map(({ items: _, ...turn }) => ({ turn, items: this.copied.get(turn.id)!.settled }))
  }

  /** Copies the item of a line; false when the line has to be read. */
  private copyItem(chunk: string, kind: number, end: number): boolean {
    if (end - kind > MAX_COPIED) return false
    if (!this.current || !hasAt(chunk, this.current.beforeItem, kind)) {
      BEFORE_ITEM.lastIndex = kind
      const found = BEFORE_ITEM.exec(chunk)
      const items = found && this.copied.get(found[1]!)
      if (!items) return false
      this.current = { items, beforeItem: found[0] }
    }
    const { items, beforeItem } = this.current
    const item = kind + beforeItem.length
    PLAIN_ITEM.lastIndex = item
    if (!PLAIN_ITEM.test(chunk) || PLAIN_ITEM.lastIndex !== end + 1) return false
    const completed = lastBefore(chunk, COMPLETED, end - TIME_DIGITS - 2, end)
    const started = lastBefore(chunk, STARTED, completed - TIME_DIGITS, completed)
    const id = chunk.indexOf(ID, item) + ID.length
    items.add(hashOf(chunk, id), chunk)
    // Quotes in a text have a backslash before them, so this can only be a member.
    const last = chunk.startsWith(',', started - LAST_MEMBER)
      ? started - LAST_MEMBER
      : chunk.lastIndexOf(',', started - 1)
    if (hasAt(chunk, OWN_COMPLETED, last)) items.copy(item, started)
    else {
      items.copy(item, started - 1)
      items.write(',"startedAtMs":')
      items.copy(started + STARTED.length, completed)
      items.write(',"completedAtMs":')
      items.copy(completed + COMPLETED.length, end - 1)
    }
    this.touched.add(items)
    return true
  }

  private read(chunk: string, start: number, end: number): boolean {
    return parseLine(chunk.slice(start, end)).records.every((record) => this.add(record, chunk))
  }

  private add(record: RolloutRecord, chunk: string): boolean {
    const { payload } = record
    const turnId = String(payload.turn_id)
    if (record.type === 'event_msg')
      switch (payload.type) {
        case 'user_message':
        case 'agent_message':
          return false
        case 'item_completed':
          return this.addItem(record, turnId, chunk)
        case 'task_started':
          if (!this.projection.has(turnId)) this.copied.set(turnId, new CopiedItems())
      }
    this.projection.add(record)
    if (payload.type === 'thread_rolled_back' || payload.type === 'thread_reverted') {
      this.current = null
      for (const id of this.copied.keys()) if (!this.projection.has(id)) this.copied.delete(id)
    }
    return true
  }

  private addItem(record: RolloutRecord, turnId: string, chunk: string): boolean {
    const item = itemOfEvent(record.payload)
    const items = this.copied.get(turnId)
    if (!items || !item) return false
    items.add(hashOf(item.id, 0), chunk)
    items.write(JSON.stringify(item))
    this.touched.add(items)
    // A person's message makes the turn one that a rollback counts.
    if (item.type === 'userMessage') this.projection.add(record)
    return true
  }
}

/** The items of one turn as text, and what tells whether one comes twice. */
class CopiedItems {
  readonly settled: Buffer[] = []
  /** Since the last `settle`: from where to where the chunk is copied, or (-1, n) for the n-th of `written`. */
  private pieces: number[] = []
  private written: string[] = []
  private readonly idHashes: number[] = []

  /** An item follows, in this chunk. */
  add(idHash: number, chunk: string): void {
    if (this.idHashes.push(idHash) === 1) return
    const { pieces } = this
    const last = pieces.length - 1
    // Behind a copied item there is mostly a comma already.
    if (last > 0 && pieces[last - 1] !== -1 && chunk.charCodeAt(pieces[last]!) === COMMA) pieces[last]!++
    else this.write(',')
  }

  /** A part of the chunk as it stands. */
  copy(start: number, end: number): void {
    this.pieces.push(start, end)
  }

  write(text: string): void {
    this.pieces.push(-1, this.written.push(text) - 1)
  }

  /** Lets go of the chunk: bytes are copied where it has them, many times as fast as text. */
  settle(chunk: string, bytes: Buffer | null): void {
    this.settled.push(bytes ? this.bytesOf(bytes) : this.textOf(chunk))
    this.pieces = []
    this.written = []
  }

  private bytesOf(chunk: Buffer): Buffer {
    const { pieces, written } = this
    let size = 0
    for (let i = 0; i < pieces.length; i += 2)
      size += pieces[i] === -1 ? Buffer.byteLength(written[pieces[i + 1]!]!) : pieces[i + 1]! - pieces[i]!
    const all = Buffer.allocUnsafe(size)
    let at = 0
    for (let i = 0; i < pieces.length; i += 2) {
      const [start, end] = [pieces[i]!, pieces[i + 1]!]
      if (start === -1) at += all.write(written[end]!, at, 'utf8')
      else {
        // Cheaper than `subarray`, which makes a Buffer.
        all.set(new Uint8Array(chunk.buffer, chunk.byteOffset + start, end - start), at)
        at += end - start
      }
    }
    return all
  }

  private textOf(chunk: string): Buffer {
    const { pieces, written } = this
    const parts: string[] = []
    for (let i = 0; i < pieces.length; i += 2) {
      const [start, end] = [pieces[i]!, pieces[i + 1]!]
      parts.push(start === -1 ? written[end]! : chunk.slice(start, end))
    }
    return Buffer.from(parts.join(''), 'utf8')
  }

  /** Whether two ids are the same, or have, once in a very long while, the same hash. */
  haveRepeats(): boolean {
    const sorted = Float64Array.from(this.idHashes).sort()
    for (let i = 1; i < sorted.length; i++) if (sorted[i] === sorted[i - 1]) return true
    return false
  }
}

/** Null for an item in another form than the protocol's. */
function itemOfEvent(event: RecordPayload): ThreadItem | null {
  const item = event.item as ThreadItem | undefined
  if (typeof item?.type !== 'string' || typeof item.id !== 'string' || !/^[a-z]/.test(item.type)) return null
  item.startedAtMs ??= typeof event.started_at_ms === 'number' ? event.started_at_ms : null
  item.completedAtMs ??= typeof event.completed_at_ms === 'number' ? event.completed_at_ms : null
  return item
}

/** Where the last of some words before an end is; `likely` is where its end mostly is. */
function lastBefore(text: string, words: string, likely: number, end: number): number {
  const at = likely - words.length
  return hasAt(text, words, at) ? at : text.lastIndexOf(words, end)
}

/** `startsWith`, several times as fast for a long text: V8 compares whole strings in larger steps. */
const hasAt = (text: string, words: string, at: number): boolean => text.slice(at, at + words.length) === words

/** A response item, which nobody but the model sees. */
function isForTheModel(chunk: string, start: number, kind: number, end: number): boolean {
  if (chunk.charCodeAt(kind + KIND.length) === EVENT) return false
  if (!hasAt(chunk, ',"type":"response_item"', kind) && !hasAt(chunk, ',"type":"compacted"', kind)) return false
  // Behind a torn line another may stand on the same one.
  const next = chunk.indexOf('{"timestamp":', start + 1)
  return next === -1 || next > end
}

/** 53 bits of a text from a place up to a quote or the end. */
function hashOf(text: string, from: number): number {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) break
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}
