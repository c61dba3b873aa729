/** The configuration a loaded thread works with: the files', under what its client asked for. */
import { merge, type ConfigTable } from './config-file.ts'

/** Owned by the thread; `reload` is seen by everything that reads `current` later. */
export class LiveConfig {
  current: ConfigTable

  constructor(
    stored: ConfigTable,
    /** Of thread/start, resume or fork; these stay on top. */
    private readonly overrides: ConfigTable,
  ) {
    this.current = merge(stored, overrides)
  }

  reload(stored: ConfigTable): void {
    this.current = merge(stored, this.overrides)
  }
}
