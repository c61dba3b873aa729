/** A modal dialog on the platform's own element: it traps focus, closes on Escape and gives focus back. */
import { useEffect, useId, useRef, type ReactNode } from 'react'
import './dialog.css'

export interface DialogProps {
  title: string
  /** The title is only for screen readers, as in the palette. */
  hideTitle?: boolean
  className?: string
  onClose: () => void
  children: ReactNode
}

/** Rendered = open. The owner removes it in `onClose`. */
export function Dialog({ title, hideTitle = false, className, onClose, children }: DialogProps): ReactNode {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()

  useEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])

  return (
    <dialog
      ref={element}
      className={`dialog ${className ?? ''}`}
      aria-labelledby={titleId}
      // Keys of a dialog are not keys of the page behind it.
      onKeyDown={(event) => event.stopPropagation()}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onPointerDown={(event) => {
        // A press outside the content lands on the dialog element itself.
        if (event.target === element.current) onClose()
      }}
    >
      <div className="dialog-content">
        <h2 id={titleId} className={hideTitle ? 'visually-hidden' : 'dialog-title'}>
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  )
}
