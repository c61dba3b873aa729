import type { SidecarLink } from './sidecar-link.ts'

export interface LiveConfigOptions<C> {
  link: SidecarLink
  /** The configuration as it should be now. */
  make(): C
  send(config: C): Promise<unknown>
  /** The sidecar did not take a change; null when the next one was taken. */
  onRefused(message: string | null): void
}

/**
 * Keeps the live part of a sidecar's configuration as it should be: what changed while it was starting is
 * sent when it is ready, what changes later at once.
 */
export class LiveConfig<C> {
  private known = ''

  constructor(private readonly options: LiveConfigOptions<C>) {
    options.link.onReady(() => void this.sync())
  }

  /** For `sidecar/initialize`. */
  forStart(): C {
    const config = this.options.make()
    this.known = JSON.stringify(config)
    return config
  }

  /** Sends what has changed. While the sidecar is down nothing is sent: it starts with what is right then. */
  async sync(): Promise<void> {
    const { link, make, send, onRefused } = this.options
    const config = make()
    const text = JSON.stringify(config)
    if (text === this.known || link.view().state !== 'ready') return
    this.known = text
    try {
      await send(config)
      onRefused(null)
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      // A life that ended meanwhile; the next one is given all of it.
      if (code !== 'unavailable' && code !== 'disconnected') onRefused(message)
    }
  }
}
