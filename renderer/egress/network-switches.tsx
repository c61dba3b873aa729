/** How far the network is open and how much of it is seen: two switches, each with what it means. */
import { useId, type ReactNode } from 'react'
import type { SettingsView } from '../../preload/api.ts'
import { useToasts } from '../components/toasts.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import './network-switches.css'

const MODES = [
  { value: 'full', words: 'Everything' },
  { value: 'limited', words: 'Reading only' },
] as const
const SIGHTS = [
  { value: 'closed', words: 'Stays closed' },
  { value: 'opened', words: 'Opened and shown' },
] as const

export function NetworkSwitches(): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const mode = useFeed(({ settings }) => settings.networkMode ?? 'full')
  const isOpened = useFeed(({ settings }) => settings.inspectHttps ?? false)
  const isLimited = mode === 'limited'

  const set = (change: Partial<SettingsView>): void => {
    void invoke('settings.set', change).then((outcome) => {
      if (!outcome.ok) toasts.show({ tone: 'failure', message: `Nothing was changed. ${outcome.message}` })
    })
  }
  return (
    <section className="network-switches" aria-label="What passes and what is seen">
      <Switch
        legend="Allowed hosts get"
        options={MODES}
        value={mode}
        onChoose={(networkMode) => set({ networkMode })}
      />
      <Switch
        legend="HTTPS"
        options={SIGHTS}
        value={isOpened || isLimited ? 'opened' : 'closed'}
        // Methods inside a closed tunnel cannot be told.
        isFixed={isLimited}
        onChoose={(sight) => set({ inspectHttps: sight === 'opened' })}
      />
      <p className="meta" role="status">
        {explanation(isLimited, isOpened)}
      </p>
    </section>
  )
}

function explanation(isLimited: boolean, isOpened: boolean): string {
  const older = 'Commands that run already must be started again to trust it.'
  if (isLimited) return `Only GET, HEAD and OPTIONS pass; HTTPS is opened by the proxy to tell. ${older}`
  if (isOpened)
    return `The proxy opens HTTPS here on this machine: each request is judged and shown, credentials masked. ${older}`
  return 'Of HTTPS you see host and port; what is inside stays between the command and the host.'
}

interface SwitchProps<V extends string> {
  legend: string
  options: readonly { value: V; words: string }[]
  value: V
  isFixed?: boolean
  onChoose: (value: V) => void
}

function Switch<V extends string>({ legend, options, value, isFixed = false, onChoose }: SwitchProps<V>): ReactNode {
  const name = useId()
  return (
    <fieldset className="network-switch" disabled={isFixed}>
      <legend className="meta">{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChoose(option.value)} />
          <span>{option.words}</span>
        </label>
      ))}
    </fieldset>
  )
}
