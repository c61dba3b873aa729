import { join } from 'node:path'
import { BrowserWindow, nativeTheme, screen } from 'electron'
import { guardContents } from './guard-contents.ts'
import { PAGE_URL } from './page-origin.ts'
import type { Refusals } from './refusals.ts'
import { restoreBounds, saveBounds, SMALLEST } from './window-bounds.ts'

export interface MainWindowOptions {
  preloadFile: string
  /** Where the window's place is remembered. */
  userDataDir: string
  refusals: Refusals
  /** A window exists now; called before its page loads. */
  opened(window: BrowserWindow): void
  /** The window came to the front. */
  focused(): void
}

/** A page that dies this often within a minute stays dead: reloading it again would only burn the machine. */
const RELOADS_PER_MINUTE = 3

/**
 * The one window. It can be closed and opened again at any time: what it shows is the host's, and the
 * page asks for all of it when it loads.
 */
export class MainWindow {
  private window: BrowserWindow | undefined
  /** Resolves when the page of the present window has loaded. */
  private loaded: Promise<void> = Promise.resolve()
  private crashesAtMs: number[] = []

  constructor(private readonly options: MainWindowOptions) {}

  get isInFront(): boolean {
    return this.window !== undefined && this.window.isVisible() && this.window.isFocused()
  }

  /** Opens the window or brings it to the front. Resolves when its page can take events. */
  async show(): Promise<BrowserWindow> {
    const window = this.window ?? this.open()
    await this.loaded
    if (!window.isDestroyed()) {
      if (window.isMinimized()) window.restore()
      window.show()
      window.focus()
    }
    return window
  }

  /** Takes the window away while the app ends; the end itself (`app.exit`) no longer tells it to close. */
  hide(): void {
    if (!this.window) return
    this.rememberBounds(this.window)
    this.window.hide()
  }

  private get boundsFile(): string {
    return join(this.options.userDataDir, 'window.json')
  }

  private rememberBounds(window: BrowserWindow): void {
    saveBounds(this.boundsFile, { ...window.getNormalBounds(), maximized: window.isMaximized() })
  }

  private open(): BrowserWindow {
    const bounds = restoreBounds(
      this.boundsFile,
      screen.getAllDisplays().map((display) => display.workArea),
    )
    const { maximized, ...place } = bounds
    const window = new BrowserWindow({
      ...place,
      minWidth: SMALLEST.width,
      minHeight: SMALLEST.height,
      title: 'Gatehouse',
      show: false,
      // The page's own --bg, so that the first frame does not flash.
      backgroundColor: nativeTheme.shouldUseDarkColors ? '#14171b' : '#ffffff',
      webPreferences: {
        preload: this.options.preloadFile,
        contextIsolation: true,
        sandbox: true,
        nodeIntegration: false,
        nodeIntegrationInWorker: false,
        nodeIntegrationInSubFrames: false,
        webviewTag: false,
        webSecurity: true,
        allowRunningInsecureContent: false,
        navigateOnDragDrop: false,
        spellcheck: false,
      },
    })
    this.window = window
    guardContents(window.webContents, this.options.refusals)
    window.on('focus', () => this.options.focused())
    window.on('close', () => this.rememberBounds(window))
    window.on('closed', () => {
      if (this.window === window) this.window = undefined
    })
    window.webContents.on('render-process-gone', (_event, { reason }) => this.recover(window, reason))
    this.options.opened(window)
    if (maximized) window.maximize()
    this.loaded = new Promise((resolve) => {
      window.once('closed', () => resolve())
      window.once('ready-to-show', () => resolve())
    })
    this.load(window)
    return window
  }

  private load(window: BrowserWindow): void {
    window.loadURL(PAGE_URL).catch((error: unknown) => {
      // A window closed while loading rejects too; there is nobody left to tell.
      if (!window.isDestroyed()) console.error(`the window's page did not load: ${String(error)}`)
    })
  }

  /** The page's process died: the host is untouched, so a fresh page shows everything again. */
  private recover(window: BrowserWindow, reason: string): void {
    if (reason === 'clean-exit' || window.isDestroyed()) return
    console.error(`the window's page ended: ${reason}`)
    const now = Date.now()
    this.crashesAtMs = [...this.crashesAtMs.filter((at) => now - at < 60_000), now]
    if (this.crashesAtMs.length <= RELOADS_PER_MINUTE) this.load(window)
    else window.destroy()
  }
}
