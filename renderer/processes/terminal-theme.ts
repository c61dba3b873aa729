/** The terminal's colours from the tokens in force. */
import type { ITheme } from '@xterm/xterm'

/** Reads the tokens of the document at this moment. */
export function terminalTheme(): ITheme {
  const style = getComputedStyle(document.documentElement)
  const token = (name: string): string => style.getPropertyValue(name).trim()
  return {
    background: token('--bg-sunken'),
    foreground: token('--text'),
    cursor: token('--text'),
    cursorAccent: token('--bg-sunken'),
    selectionBackground: token('--accent'),
    selectionForeground: token('--accent-text'),
    red: token('--deny'),
    brightRed: token('--deny'),
    green: token('--allow'),
    brightGreen: token('--allow'),
    yellow: token('--warn'),
    brightYellow: token('--warn'),
    blue: token('--code-program'),
    brightBlue: token('--code-program'),
    magenta: token('--code-substitution'),
    brightMagenta: token('--code-substitution'),
    brightBlack: token('--text-dim'),
    scrollbarSliderBackground: `${token('--line-strong')}66`,
    scrollbarSliderHoverBackground: `${token('--line-strong')}aa`,
    scrollbarSliderActiveBackground: `${token('--line-strong')}cc`,
    overviewRulerBorder: '#00000000',
  }
}

/** Calls back when another token set is shown. Returns the unsubscriber. */
export function onThemeChange(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}
