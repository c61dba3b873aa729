/** What a wide scope would do, before it does it: the rule, its words, and what it would have matched. */
import type { ReactNode } from 'react'
import type { RulePreview } from '../../preload/api.ts'
import { SkeletonRows } from '../components/states.tsx'
import { countOf } from '../components/quantities.ts'
import { VisibleText } from '../components/visible-text.tsx'
import './rule-preview.css'

export function RulePreviewPanel({ preview }: { preview: RulePreview | null }): ReactNode {
  if (!preview) return <SkeletonRows count={2} label="Reading what this rule would do" />
  const { matched } = preview
  return (
    <div className="rule-preview" role="group" aria-label="The rule this would make">
      <p>
        <VisibleText text={preview.words} />
      </p>
      <pre className="rule-text">
        {preview.text.split('\n').map((line) => (
          <div key={line}>
            <VisibleText code text={line} />
          </div>
        ))}
      </pre>
      <p className="meta">
        {matched.count === 0
          ? 'It would have matched none of the requests of the last 30 days.'
          : `It would have matched ${countOf(matched.count, 'request')} of the last 30 days`}
        {matched.count > 0 &&
          (matched.denied > 0 ? (
            <strong className="denied-before">, {matched.denied} of which you denied.</strong>
          ) : (
            '.'
          ))}{' '}
        Kept in <VisibleText text={preview.storedIn} />.
      </p>
      {matched.examples.length > 0 && (
        <ul className="rule-examples">
          {matched.examples.slice(0, 5).map((example) => (
            <li key={example} className="truncate">
              <VisibleText code text={example} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
