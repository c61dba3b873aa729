/** What a page shows when it has nothing, does not know yet, or knows no longer. */
import { useEffect, useState, type ReactNode } from 'react'
import { Icon } from './icon.tsx'
import './states.css'

/** Shorter waits show nothing at all: a flash of grey is worse than a moment of calm. */
const SKELETON_AFTER_MS = 150

export function EmptyState({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="empty-state">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** Grey rows in place of a list that is being fetched. */
export function SkeletonRows({ count = 6, label }: { count?: number; label: string }): ReactNode {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), SKELETON_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  if (!late) return null
  return (
    <div className="skeleton-rows" role="status" aria-label={label}>
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className="skeleton-row" />
      ))}
    </div>
  )
}

/** Something went wrong: what, to what, what was kept, what to do. The cause is one click away. */
export function ErrorNote({
  message,
  detail,
  children,
}: {
  message: string
  detail?: string | null
  children?: ReactNode
}): ReactNode {
  return (
    <div className="error-note" role="alert">
      <Icon name="warning" />
      <div>
        <p>{message}</p>
        {detail && (
          <details>
            <summary>Details</summary>
            <pre>{detail}</pre>
          </details>
        )}
      </div>
      {children && <div className="error-actions">{children}</div>}
    </div>
  )
}
