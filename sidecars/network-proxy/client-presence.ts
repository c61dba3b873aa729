/**
 * Whether the client of a connection attempt still waits. Does what an AbortSignal does, at a price that
 * does not show: creating one of those costs more than all else in opening a tunnel.
 */
export class ClientPresence {
  private gone = false
  /** Nearly always there is one; a set is made for the second. */
  private listener: (() => void) | undefined
  private others: Set<() => void> | undefined

  get left(): boolean {
    return this.gone
  }

  /** The client has gone, or its attempt is over. Idempotent. */
  leave(): void {
    if (this.gone) return
    this.gone = true
    const { listener, others } = this
    this.listener = this.others = undefined
    listener?.()
    if (others) for (const other of others) other()
  }

  /** Calls `listener` once when the client leaves, at once if it has. Remove it with `off`. */
  onLeave(listener: () => void): void {
    if (this.gone) return listener()
    if (this.listener === undefined) this.listener = listener
    else (this.others ??= new Set()).add(listener)
  }

  off(listener: () => void): void {
    if (this.listener === listener) this.listener = undefined
    else this.others?.delete(listener)
  }
}
