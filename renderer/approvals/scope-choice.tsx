/** For how long an answer holds. Apart from the verdict, so that neither is chosen by choosing the other. */
import { useId, type KeyboardEvent, type ReactNode } from 'react'
import type { Scope } from '../../preload/api.ts'
import './scope-choice.css'

const ORDER: readonly Scope[] = ['once', 'session', 'always']
const NAMES: Record<Scope, string> = { once: 'Once', session: 'Session', always: 'Always' }

export interface ScopeChoiceProps {
  /** Those the asker can honour; the others are not offered. */
  offered: readonly Scope[]
  scope: Scope
  onChoose: (scope: Scope) => void
}

export function ScopeChoice({ offered, scope, onChoose }: ScopeChoiceProps): ReactNode {
  const name = useId()
  const choices = ORDER.filter((choice) => offered.includes(choice))

  const byDigit = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const choice = ORDER[Number(event.key) - 1]
    if (!choice || !choices.includes(choice)) return
    event.preventDefault()
    onChoose(choice)
    event.currentTarget.querySelector<HTMLInputElement>(`input[value="${choice}"]`)?.focus()
  }

  return (
    <div className="scope-choice" role="radiogroup" aria-label="Scope" onKeyDown={byDigit}>
      {choices.map((choice) => (
        <label key={choice}>
          <input type="radio" name={name} value={choice} checked={choice === scope} onChange={() => onChoose(choice)} />
          <span>{NAMES[choice]}</span>
        </label>
      ))}
    </div>
  )
}
