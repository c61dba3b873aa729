import { watch, type FSWatcher } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { NetworkProxyConfig } from '../../sidecars/protocol/host-channel.ts'
import { describeDiskTrouble } from '../storage/disk-trouble.ts'

/** Editors write a file in several steps; what stands after this pause is meant. */
const SETTLE_MS = 200
/** Far beyond any real one; what is larger is another file. */
const MAX_BYTES = 1024 * 1024

/** The owner's `network.toml`, read and followed; the proxy understands it and names what is wrong in it. */
export class NetworkFile {
  private content: NetworkProxyConfig['ownerFile']
  private watcher: FSWatcher | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly path: string,
    private readonly onChanged: () => void,
  ) {}

  /** As it was last read; undefined while there is none. One that cannot be read is a problem, not an absent one. */
  get current(): NetworkProxyConfig['ownerFile'] {
    return this.content
  }

  /** Reads the file and follows it from then on. Never rejects. */
  async start(): Promise<void> {
    this.startWatching()
    await this.read()
  }

  /** Without a watcher (too many of them on this machine) changes take effect with the next start. */
  private startWatching(): void {
    const name = basename(this.path)
    try {
      this.watcher = watch(dirname(this.path), (_event, changed) => {
        if (changed !== null && changed !== name) return
        clearTimeout(this.timer)
        this.timer = setTimeout(() => void this.reload(), SETTLE_MS)
        this.timer.unref()
      })
      this.watcher.on('error', () => this.watcher?.close())
    } catch {
      this.watcher = undefined
    }
  }

  stop(): void {
    clearTimeout(this.timer)
    this.watcher?.close()
  }

  private async reload(): Promise<void> {
    const before = JSON.stringify(this.content)
    await this.read()
    if (JSON.stringify(this.content) !== before) this.onChanged()
  }

  private async read(): Promise<void> {
    const { path } = this
    try {
      const bytes = await readFile(path)
      if (bytes.length > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`)
      this.content = { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') this.content = undefined
      else this.content = { path, problem: `cannot be read: ${await describeDiskTrouble(error, path)}` }
    }
  }
}
