/** The frame of a page: head with title and actions, then content that scrolls by itself. */
import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'
import { placeHref, type Place } from './places.ts'
import './page.css'

export interface PageHeadProps {
  title: ReactNode
  /** Where the page came from, shown before the title. */
  parent?: { name: string; place: Place }
  meta?: ReactNode
  children?: ReactNode
}

export function PageHead({ title, parent, meta, children }: PageHeadProps): ReactNode {
  return (
    <header className="page-head">
      <div className="page-title">
        {parent && (
          <>
            <a className="crumb" href={placeHref(parent.place)}>
              <Icon name="left" />
              {parent.name}
            </a>
            <span className="dim" aria-hidden="true">
              /
            </span>
          </>
        )}
        <h1>{title}</h1>
        {meta && <span className="meta">{meta}</span>}
      </div>
      {children && <div className="page-actions">{children}</div>}
    </header>
  )
}

/** `wide` pages use the whole width; the others keep lines readable. */
export function PageBody({ children, wide = false }: { children: ReactNode; wide?: boolean }): ReactNode {
  return <div className={`page-body ${wide ? 'wide' : ''}`}>{children}</div>
}
