/** Short words about what was just done, with Undo where there is one. */
import { createContext, useContext, useEffect, useMemo, type ReactNode } from 'react'
import { useStore } from 'zustand'
import { createStore, type StoreApi } from 'zustand/vanilla'
import { Button, IconButton } from './button.tsx'
import { VisibleText } from './visible-text.tsx'
import './toasts.css'

/** Long enough to read the sentence and to change one's mind. */
export const TOAST_MS = 10_000

export interface Toast {
  id: number
  tone: 'plain' | 'failure'
  message: string
  undo?: { label: string; run: () => void }
}

export interface Toasts {
  store: StoreApi<{ toasts: Toast[] }>
  show(toast: Omit<Toast, 'id' | 'tone'> & { tone?: Toast['tone'] }): void
  dismiss(id: number): void
}

export function createToasts(): Toasts {
  const store = createStore<{ toasts: Toast[] }>(() => ({ toasts: [] }))
  let count = 0
  const dismiss = (id: number): void =>
    store.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }))
  return {
    store,
    dismiss,
    show(toast) {
      count += 1
      store.setState(({ toasts }) => ({ toasts: [...toasts.slice(-3), { tone: 'plain', ...toast, id: count }] }))
    },
  }
}

const ToastsContext = createContext<Toasts>(createToasts())

export function ToastsProvider({ children }: { children: ReactNode }): ReactNode {
  const toasts = useMemo(() => createToasts(), [])
  return (
    <ToastsContext value={toasts}>
      {children}
      <ToastStack />
    </ToastsContext>
  )
}

export function useToasts(): Toasts {
  return useContext(ToastsContext)
}

function ToastStack(): ReactNode {
  const { store, dismiss } = useToasts()
  const toasts = useStore(store, (state) => state.toasts)
  return (
    <div className="toast-stack" role="status" aria-label="What was just done">
      {toasts.map((toast) => (
        <ToastView key={toast.id} toast={toast} onDismiss={() => dismiss(toast.id)} />
      ))}
    </div>
  )
}

function ToastView({ toast, onDismiss }: { toast: Toast; onDismiss: () => void }): ReactNode {
  const { dismiss } = useToasts()
  const { id, undo } = toast
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), TOAST_MS)
    return () => clearTimeout(timer)
  }, [dismiss, id])
  return (
    <div className={`toast ${toast.tone}`}>
      <span>
        <VisibleText text={toast.message} />
      </span>
      {undo && (
        <Button
          onClick={() => {
            onDismiss()
            undo.run()
          }}
        >
          {undo.label}
        </Button>
      )}
      <IconButton name="Dismiss" icon="cross" onClick={onDismiss} />
    </div>
  )
}
