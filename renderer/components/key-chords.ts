/** Key chords as text ("Mod+Shift+F8"), matched against events and written for people. */

const IS_MAC = navigator.userAgent.includes('Mac OS X')

interface Chord {
  mod: boolean
  shift: boolean
  alt: boolean
  key: string
}

function parseChord(text: string): Chord {
  const parts = text.split('+')
  const key = parts.at(-1) ?? ''
  return { mod: parts.includes('Mod'), shift: parts.includes('Shift'), alt: parts.includes('Alt'), key }
}

type KeyEventLike = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>

/** `Mod` is Command on a Mac and Control elsewhere. Modifiers that the chord does not name must be up. */
export function matchesChord(event: KeyEventLike, chord: string, isMac = IS_MAC): boolean {
  const wanted = parseChord(chord)
  const mod = isMac ? event.metaKey : event.ctrlKey
  const otherMod = isMac ? event.ctrlKey : event.metaKey
  if (mod !== wanted.mod || otherMod || event.shiftKey !== wanted.shift || event.altKey !== wanted.alt) return false
  // Digits sit behind Shift on some layouts: there the key's place decides.
  return (
    event.key.toLowerCase() === wanted.key.toLowerCase() ||
    (/^\d$/.test(wanted.key) && event.code === `Digit${wanted.key}`)
  )
}

const SYMBOLS: Record<string, string> = { ArrowUp: '↑', ArrowDown: '↓', '.': '.' }

/** "Ctrl+Enter", or "⌘↩" style on a Mac. */
export function writeChord(chord: string, isMac = IS_MAC): string {
  const { mod, shift, alt, key } = parseChord(chord)
  const name = SYMBOLS[key] ?? key
  if (isMac) return `${alt ? '⌥' : ''}${shift ? '⇧' : ''}${mod ? '⌘' : ''}${name}`
  return [mod && 'Ctrl', alt && 'Alt', shift && 'Shift', name].filter(Boolean).join('+')
}
