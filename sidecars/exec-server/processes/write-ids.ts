/** Remembered per process, as the reference server. */
export const MAX_WRITE_IDS = 4_096

/** The newest write ids of one process: a repeat is acknowledged and not written again. */
export class WriteIds {
  private readonly ids = new Set<string>()

  /** False when `id` is known already. */
  accept(id: string): boolean {
    if (this.ids.has(id)) return false
    this.ids.add(id)
    if (this.ids.size > MAX_WRITE_IDS) this.ids.delete(this.ids.values().next().value as string)
    return true
  }
}
