/** The second act of a rule that holds for ever: how wide, what it says, what it would have matched. */
import { useEffect, useId, useState, type ReactNode } from 'react'
import type { ConnectionView, EgressIntent, RulePreview } from '../../preload/api.ts'
import { RulePreviewPanel } from '../approvals/rule-preview.tsx'
import { Button } from '../components/button.tsx'
import { hostAndPort } from '../components/host-name.ts'
import { ErrorNote } from '../components/states.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useInvoke } from '../feed/feed-context.tsx'

type Breadth = EgressIntent['breadth']

export interface WideRuleProps {
  connection: ConnectionView
  verdict: 'allow' | 'deny'
  onSave: (breadth: Breadth) => void
}

export function WideRule({ connection, verdict, onSave }: WideRuleProps): ReactNode {
  const invoke = useInvoke()
  const name = useId()
  const { id } = connection
  const [breadth, setBreadth] = useState<Breadth>('host-port')
  const [preview, setPreview] = useState<{ breadth: Breadth; rule: RulePreview } | null>(null)
  const [failure, setFailure] = useState<string | null>(null)

  useEffect(() => {
    let current = true
    void invoke('egress.preview', { connectionId: id, verdict, scope: 'always', breadth }).then((outcome) => {
      if (!current) return
      setFailure(
        outcome.ok ? null : `What this rule would do could not be shown, so it cannot be saved. ${outcome.message}`,
      )
      if (outcome.ok) setPreview({ breadth, rule: outcome.value })
    })
    return () => {
      current = false
    }
  }, [breadth, id, invoke, verdict])

  const shown = preview?.breadth === breadth ? preview.rule : null
  const choices: [Breadth, string][] = [
    ['host-port', hostAndPort(connection.host, connection.port)],
    ['host', `${connection.host}, any port`],
  ]
  return (
    <div className="wide-rule">
      <div role="radiogroup" aria-label="How wide">
        {choices.map(([choice, words]) => (
          <label key={choice} className="radio">
            <input type="radio" name={name} checked={choice === breadth} onChange={() => setBreadth(choice)} />
            <VisibleText code text={words} />
          </label>
        ))}
      </div>
      {failure ? <ErrorNote message={failure} /> : <RulePreviewPanel preview={shown} />}
      <Button tone={verdict === 'allow' ? 'primary' : 'danger'} inert={shown === null} onClick={() => onSave(breadth)}>
        Save rule and {verdict}
      </Button>
    </div>
  )
}
