/** What texts of clients mean, remembered: the same few spellings come with every message. */

/** Longer texts are rare, and would make the memory large. */
const MAX_LENGTH = 256

export class SpellingMemory<T> {
  private readonly known = new Map<string, T>()

  constructor(
    private readonly read: (text: string) => T,
    private readonly max: number,
  ) {}

  /** What `text` means. @throws what reading it throws; nothing is remembered then */
  meaningOf(text: string): T {
    const known = this.known.get(text)
    if (known !== undefined) return known
    if (text.length > MAX_LENGTH) return this.read(text)
    // A copy: a part of a message keeps the whole message in memory.
    const own = Buffer.from(text).toString()
    const meaning = this.read(own)
    // Bounded by forgetting everything: a flood of spellings costs time, never memory.
    if (this.known.size >= this.max) this.known.clear()
    this.known.set(own, meaning)
    return meaning
  }
}
