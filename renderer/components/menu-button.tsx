/** A button that opens a short list of acts, in the pattern of the ARIA guide. */
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { Button, type ButtonProps } from './button.tsx'
import './menu-button.css'

export interface MenuAct {
  id: string
  title: string
  /** What the act is good for, in a few words. */
  note?: string
  run: () => void
}

export interface MenuButtonProps extends Pick<ButtonProps, 'icon' | 'inert'> {
  label: string
  acts: readonly MenuAct[]
}

export function MenuButton({ label, acts, icon, inert = false }: MenuButtonProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const frame = useRef<HTMLDivElement>(null)
  const items = (): HTMLElement[] => [...(frame.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])]
  const close = (): void => {
    setOpen(false)
    frame.current?.querySelector('button')?.focus()
  }
  useEffect(() => {
    if (isOpen) frame.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus()
  }, [frame, isOpen])

  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (event.key === 'Escape' && isOpen) {
      event.stopPropagation()
      close()
    } else if (step !== 0) {
      event.preventDefault()
      if (!isOpen) return setOpen(!inert)
      const all = items()
      const at = all.indexOf(document.activeElement as HTMLElement)
      all[(at + step + all.length) % all.length]?.focus()
    }
  }
  return (
    <div
      ref={frame}
      className="menu-button"
      onKeyDown={onKeyDown}
      onBlur={({ relatedTarget }) => {
        if (!frame.current?.contains(relatedTarget)) setOpen(false)
      }}
    >
      <Button
        {...(icon && { icon })}
        inert={inert}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </Button>
      {isOpen && (
        <div role="menu" aria-label={label} className="menu">
          {acts.map(({ id, title, note, run }) => (
            <button
              key={id}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close()
                run()
              }}
            >
              <span>{title}</span>
              {note !== undefined && <span className="meta">{note}</span>}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
