/** Records a key chord by pressing it. The text is Electron's accelerator form, e.g. `CommandOrControl+Shift+G`. */
import { useState, type KeyboardEvent, type ReactNode } from 'react'
import { Button } from '../components/button.tsx'

const MODIFIERS = new Set(['Control', 'Shift', 'Alt', 'Meta', 'AltGraph'])
const NAMED: Record<string, string> = {
  ' ': 'Space',
  ArrowUp: 'Up',
  ArrowDown: 'Down',
  ArrowLeft: 'Left',
  ArrowRight: 'Right',
  '+': 'Plus',
}

type KeyFacts = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>

/** Null until a key that is not a modifier is pressed together with Ctrl, Alt or Command (or alone, for F-keys). */
export function acceleratorOf({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyFacts): string | null {
  if (MODIFIERS.has(key)) return null
  const isFunctionKey = /^F\d{1,2}$/.test(key)
  if (!ctrlKey && !metaKey && !altKey && !isFunctionKey) return null
  const name = NAMED[key] ?? (key.length === 1 ? key.toUpperCase() : key)
  return [(ctrlKey || metaKey) && 'CommandOrControl', altKey && 'Alt', shiftKey && 'Shift', name]
    .filter(Boolean)
    .join('+')
}

export function ShortcutField({
  value,
  onChange,
}: {
  value: string | null
  onChange: (value: string | null) => void
}): ReactNode {
  const [recording, setRecording] = useState(false)
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!recording || event.key === 'Tab') return
    event.preventDefault()
    event.stopPropagation()
    if (event.key === 'Escape') return setRecording(false)
    const accelerator = acceleratorOf(event)
    if (!accelerator) return
    setRecording(false)
    onChange(accelerator)
  }
  return (
    <div className="shortcut-field">
      <Button
        onClick={() => setRecording(true)}
        onBlur={() => setRecording(false)}
        onKeyDown={onKeyDown}
        aria-label={recording ? 'Press the keys' : `Global shortcut: ${value ?? 'off'}. Change it`}
      >
        {recording ? 'Press the keys' : (value ?? 'Off')}
      </Button>
      {value !== null && (
        <Button tone="quiet" onClick={() => onChange(null)}>
          Turn off
        </Button>
      )}
    </div>
  )
}
