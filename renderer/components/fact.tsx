/** A name and its value, inside a `<dl className="facts">`. */
import type { ReactNode } from 'react'
import './fact.css'

export function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
