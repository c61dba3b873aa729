/** The model's own list of what it is going to do. */
import type { ReactNode } from 'react'
import { VisibleText } from '../../components/visible-text.tsx'
import type { PlanStep } from './transcript.ts'

const STATUS_WORDS = { pending: 'to do', inProgress: 'doing', completed: 'done' } as const

export function PlanPanel({ steps }: { steps: readonly PlanStep[] }): ReactNode {
  const done = steps.filter(({ status }) => status === 'completed').length
  const now = steps.find(({ status }) => status === 'inProgress')
  return (
    <details className="plan-panel">
      <summary>
        <span>
          Plan, {done} of {steps.length} done
        </span>
        {now && (
          <span className="truncate dim">
            <VisibleText text={now.step} />
          </span>
        )}
      </summary>
      <ol>
        {steps.map(({ step, status }, index) => (
          <li key={index} className={status}>
            <span className="meta">{STATUS_WORDS[status]}</span> <VisibleText text={step} />
          </li>
        ))}
      </ol>
    </details>
  )
}
