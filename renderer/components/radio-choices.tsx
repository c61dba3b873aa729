/** One of several, as radio buttons, for a fieldset of settings: the words of each and what choosing it opens up. */
import type { ReactNode } from 'react'
import './radio-choices.css'

export interface RadioChoice<V extends string> {
  value: V
  words: ReactNode
  /** What is held back less when this is chosen. */
  opens?: string
}

export interface RadioChoicesProps<V extends string> {
  /** The same for the buttons of one group, different between groups of a page. */
  name: string
  choices: readonly RadioChoice<V>[]
  /** Undefined or none of them: nothing is checked. */
  value: string | undefined
  onChoose: (value: V) => void
}

export function RadioChoices<V extends string>({ name, choices, value, onChoose }: RadioChoicesProps<V>): ReactNode {
  return choices.map((choice) => (
    <label key={choice.value} className="radio">
      <input type="radio" name={name} checked={choice.value === value} onChange={() => onChoose(choice.value)} />
      <span>
        {choice.words}
        {choice.opens && <span className="setting-opens"> {choice.opens}</span>}
      </span>
    </label>
  ))
}
