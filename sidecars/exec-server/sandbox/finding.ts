/** A failure is remembered this long: somebody may be installing what is missing right now. */
const FAILURE_VALID_MS = 5_000

/** What was found out once about this machine, for all who ask. */
export class Finding<T> {
  private known: Promise<T> | undefined

  /** As `probe` found it: asked the first time, and again some seconds after it has failed. */
  get(probe: () => Promise<T>): Promise<T> {
    if (this.known) return this.known
    const probing = probe()
    this.known = probing
    probing.catch(() => {
      setTimeout(() => (this.known = undefined), FAILURE_VALID_MS).unref()
    })
    return probing
  }
}
