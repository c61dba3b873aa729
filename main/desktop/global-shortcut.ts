import { globalShortcut } from 'electron'

/** The one key that works in every program: off until the owner sets it. */
export class NextRequestShortcut {
  private current: string | null = null

  /** `failed` hears why a wish could not be met, in one sentence for people. */
  constructor(
    private readonly press: () => void,
    private readonly failed: (message: string) => void,
  ) {}

  /** Replaces the key; null takes it away. */
  set(accelerator: string | null): void {
    if (accelerator === this.current) return
    this.dispose()
    if (accelerator === null) return
    if (!register(accelerator, this.press)) {
      this.failed(`The shortcut ${accelerator} is not possible or another program has it. Choose another in Settings.`)
      return
    }
    this.current = accelerator
  }

  dispose(): void {
    if (this.current !== null) globalShortcut.unregister(this.current)
    this.current = null
  }
}

/** Electron throws for a key it cannot read and answers false for one that is taken. */
function register(accelerator: string, press: () => void): boolean {
  try {
    return globalShortcut.register(accelerator, press)
  } catch {
    return false
  }
}
