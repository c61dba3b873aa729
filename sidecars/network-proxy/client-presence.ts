/**
 * Whether the client of a connection attempt still waits. Does what an AbortSignal does, at a price that
 * does not show: creating one of those costs more than all else in opening a tunnel.
 */
export class ClientPresence {
  private gone = false
  private listeners: Set<() => void> | undefined

  get left(): boolean {
    return this.gone
  }

  /** The client has gone, or its attempt is over. Idempotent. */
  leave(): void {
    if (this.gone) return
    this.gone = true
    const { listeners } = this
    this.listeners = undefined
    if (listeners) for (const listener of listeners) listener()
  }

  /** Calls `listener` once when the client leaves, at once if it has. Remove it with `off`. */
  onLeave(listener: () => void): void {
    if (this.gone) return listener()
    this.listeners ??= new Set()
    this.listeners.add(listener)
  }

  off(listener: () => void): void {
    this.listeners?.delete(listener)
  }
}
