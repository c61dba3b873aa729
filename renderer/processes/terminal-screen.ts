/** One xterm terminal for one process: look, keys, safety, search and ruler; knows nothing of ports. */
import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Terminal, type IDisposable } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { matchesChord } from '../components/key-chords.ts'
import type { OutputSink } from './output-flow.ts'
import { makeOutputInert } from './terminal-safety.ts'
import { onThemeChange, terminalTheme } from './terminal-theme.ts'

/** Lines kept for scrolling; everything older is read by cursor in the output log. */
const SCROLLBACK_LINES = 10_000
/** Each mark is kept by the terminal until its line is gone; more would not be told apart on the ruler. */
const MAX_RULER_MARKS = 300
const RULER_PX = 10

export interface TerminalScreenOptions {
  /** Lines of pipes end with a bare line feed; a pty has translated it already. */
  convertLineFeeds: boolean
  screenReader: boolean
  onInput: (text: string) => void
  onResize: (columns: number, rows: number) => void
  /** The owner pressed the chord that leaves the terminal. */
  onLeave: () => void
  onCopy: (text: string) => void
  /** A link in the output was pressed; nothing has been opened. */
  onLink: (address: string) => void
  /** Whether the last line is in view. */
  onAtEnd: (atEnd: boolean) => void
  onSearchResults: (results: { index: number; count: number }) => void
}

export class TerminalScreen implements OutputSink {
  private readonly terminal: Terminal
  private readonly fit = new FitAddon()
  private readonly finder = new SearchAddon()
  private readonly owned: IDisposable[] = []
  private rulerMarks = 0
  private lastMarkedLine = -1
  private interactive = false
  /** Output that was written before the page opened is on its way in. */
  replaying = true

  constructor(
    element: HTMLElement,
    private readonly options: TerminalScreenOptions,
  ) {
    this.terminal = new Terminal({
      allowProposedApi: true,
      convertEol: options.convertLineFeeds,
      cursorInactiveStyle: 'none',
      disableStdin: true,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
      fontSize: 12.5,
      lineHeight: 1.3,
      linkHandler: { activate: (_event, address) => options.onLink(address) },
      minimumContrastRatio: 4.5,
      overviewRuler: { width: RULER_PX },
      screenReaderMode: options.screenReader,
      scrollback: SCROLLBACK_LINES,
      theme: terminalTheme(),
    })
    const { terminal } = this
    terminal.loadAddon(this.fit)
    terminal.loadAddon(this.finder)
    this.owned.push(
      makeOutputInert(terminal, () => this.interactive && !this.replaying),
      terminal.onData((text) => this.interactive && options.onInput(text)),
      terminal.onResize(({ cols, rows }) => options.onResize(cols, rows)),
      terminal.onScroll(() => this.tellAtEnd()),
      terminal.onWriteParsed(() => this.tellAtEnd()),
      this.finder.onDidChangeResults(({ resultIndex, resultCount }) =>
        options.onSearchResults({ index: resultIndex, count: resultCount }),
      ),
      {
        dispose: onThemeChange(() => {
          terminal.options.theme = terminalTheme()
        }),
      },
    )
    terminal.attachCustomKeyEventHandler((event) => this.onKey(event))
    terminal.open(element)
    this.fitToElement()
    const observer = new ResizeObserver(() => this.fitToElement())
    observer.observe(element)
    this.owned.push({ dispose: () => observer.disconnect() })
  }

  write(text: string | Uint8Array, taken: () => void): void {
    this.terminal.write(text, taken)
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.terminal.cols, rows: this.terminal.rows }
  }

  /** Whether keys go to the program. */
  setInteractive(interactive: boolean): void {
    this.interactive = interactive
    this.terminal.options.disableStdin = !interactive
    this.terminal.options.cursorInactiveStyle = interactive ? 'outline' : 'none'
    this.terminal.textarea?.setAttribute(
      'aria-label',
      interactive ? 'Terminal: keys go to the program' : 'Terminal, read only',
    )
  }

  /** Marks the current line on the ruler. */
  mark(kind: 'error' | 'input'): void {
    const { active } = this.terminal.buffer
    const line = active.baseY + active.cursorY
    if (active.type !== 'normal' || line === this.lastMarkedLine || this.rulerMarks >= MAX_RULER_MARKS) return
    this.lastMarkedLine = line
    const marker = this.terminal.registerMarker(0)
    const style = getComputedStyle(document.documentElement)
    const color = style.getPropertyValue(kind === 'error' ? '--deny' : '--focus').trim()
    const decoration = this.terminal.registerDecoration({ marker, overviewRulerOptions: { color } })
    if (!decoration) return marker.dispose()
    this.rulerMarks += 1
    marker.onDispose(() => (this.rulerMarks -= 1))
  }

  find(text: string, direction: 'next' | 'previous'): void {
    const style = getComputedStyle(document.documentElement)
    const token = (name: string): string => style.getPropertyValue(name).trim()
    const decorations = {
      matchBackground: token('--warn-soft'),
      matchBorder: token('--warn'),
      matchOverviewRuler: token('--warn'),
      activeMatchBackground: token('--accent'),
      activeMatchColorOverviewRuler: token('--accent'),
    }
    if (text === '') this.clearSearch()
    else if (direction === 'next') this.finder.findNext(text, { decorations })
    else this.finder.findPrevious(text, { decorations })
  }

  clearSearch(): void {
    this.finder.clearDecorations()
    this.terminal.clearSelection()
  }

  scrollToEnd(): void {
    this.terminal.scrollToBottom()
  }

  focus(): void {
    this.terminal.focus()
  }

  dispose(): void {
    for (const owned of this.owned.splice(0)) owned.dispose()
    this.terminal.dispose()
  }

  /** A hidden element has no size, and a program must never be told that it has none. */
  private fitToElement(): void {
    const proposed = this.fit.proposeDimensions()
    if (proposed && proposed.cols > 1 && proposed.rows > 1) this.fit.fit()
  }

  private tellAtEnd(): void {
    const { viewportY, baseY } = this.terminal.buffer.active
    this.options.onAtEnd(viewportY >= baseY)
  }

  /** False = not for the terminal. */
  private onKey(event: KeyboardEvent): boolean {
    if (event.type !== 'keydown') return true
    if (matchesChord(event, 'Mod+M')) {
      event.preventDefault()
      this.options.onLeave()
      return false
    }
    const selected = this.terminal.getSelection()
    const copies = matchesChord(event, 'Mod+Shift+C') || (matchesChord(event, 'Mod+C') && !this.interactive)
    if (copies && selected !== '') {
      event.preventDefault()
      this.options.onCopy(selected)
      return false
    }
    if (this.interactive) return true
    if (event.key === 'Tab' || event.key === 'Escape') return false
    return !this.scrollByKey(event)
  }

  /** In a terminal that takes no input the keys move through it. */
  private scrollByKey(event: KeyboardEvent): boolean {
    const { terminal } = this
    const moves: Record<string, () => void> = {
      PageUp: () => terminal.scrollPages(-1),
      PageDown: () => terminal.scrollPages(1),
      ArrowUp: () => terminal.scrollLines(-1),
      ArrowDown: () => terminal.scrollLines(1),
      k: () => terminal.scrollLines(-1),
      j: () => terminal.scrollLines(1),
      Home: () => terminal.scrollToTop(),
      End: () => terminal.scrollToBottom(),
    }
    const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key]
    if (!move) return false
    event.preventDefault()
    move()
    return true
  }
}
