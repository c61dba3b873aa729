/** Remembered per process, as the reference server. */
export const MAX_WRITE_IDS = 4_096

/** The newest write ids of one process: a repeat is acknowledged and not written again. */
export class WriteIds {
  private readonly ids = new Set<string>()

  has(id: string): boolean {
    return this.ids.has(id)
  }
  add(id: string): void {
    this.ids.add(id)
    if (this.ids.size > MAX_WRITE_IDS) this.ids.delete(this.ids.values().next().value as string)
  }
  /** The write came to nothing and may be tried again. */
  remove(id: string): void {
    this.ids.delete(id)
  }
}
