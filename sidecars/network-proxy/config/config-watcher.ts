/** Follows a configuration file: a good change is taken whole, a bad one leaves the old one in force. */
import { watch, type FSWatcher } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { readConfigFile } from './config-file.ts'
import type { NetworkConfig } from './network-config.ts'

/** Editors write a file in several steps; what stands after this pause is meant. */
const SETTLE_MS = 200

export interface ConfigListener {
  /** May throw or reject to refuse the change; that is then the failure. */
  changed(config: NetworkConfig): void | Promise<void>
  failed(error: Error): void
}

export class ConfigWatcher {
  private readonly watcher: FSWatcher
  private timer: NodeJS.Timeout | undefined
  private closed = false

  /** Watches the folder, because editors replace files. */
  constructor(
    private readonly path: string,
    private readonly listener: ConfigListener,
  ) {
    const name = basename(path)
    this.watcher = watch(dirname(resolve(path)), (_event, changed) => {
      if (changed === null || changed === name) this.schedule()
    })
    this.watcher.on('error', (error) => listener.failed(error))
  }

  private schedule(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.reload(), SETTLE_MS)
  }

  /** Reads the file now. */
  async reload(): Promise<void> {
    try {
      const config = await readConfigFile(this.path)
      if (!this.closed) await this.listener.changed(config)
    } catch (error) {
      if (!this.closed) this.listener.failed(error as Error)
    }
  }

  close(): void {
    this.closed = true
    clearTimeout(this.timer)
    this.watcher.close()
  }
}
