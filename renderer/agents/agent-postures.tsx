/** How each agent is treated where no rule decides; those without a word of their own as the setting says. */
import { useMemo, useState, type ReactNode } from 'react'
import type { SettingsView } from '../../preload/api.ts'
import { ErrorNote } from '../components/states.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import { selectSessions } from '../sessions/selectors.ts'

type Posture = SettingsView['agentGate']

const WORDS: Record<Posture, string> = {
  observe: 'Run and record',
  ask: 'Rules, then ask you',
  enforce: 'Rules only',
}
const POSTURES = Object.keys(WORDS) as Posture[]
const NONE: Record<string, Posture> = {}

export function AgentPostures(): ReactNode {
  const invoke = useInvoke()
  const own = useFeed((state) => state.settings?.agentPostures) ?? NONE
  const sessions = useFeed(selectSessions)
  const [failure, setFailure] = useState<string | null>(null)
  const names = useMemo(
    () => [...new Set([...Object.keys(own), ...sessions.map(({ agentName }) => agentName)])].sort(),
    [own, sessions],
  )
  if (names.length === 0) return null

  const choose = (name: string, posture: string): void => {
    const { [name]: _, ...others } = own
    const next = posture === '' ? others : { ...others, [name]: posture as Posture }
    void invoke('settings.set', { agentPostures: next }).then((outcome) =>
      setFailure(outcome.ok ? null : outcome.message),
    )
  }
  return (
    <section className="agent-postures" aria-labelledby="agent-postures-title">
      <h2 id="agent-postures-title">Where no rule decides</h2>
      <p className="dim">
        What a rule denies is refused in any case. By default you are asked, and agents on the exec server are treated
        as Settings say.
      </p>
      {failure && <ErrorNote message={failure} />}
      {names.map((name) => (
        <label key={name} className="agent-posture">
          <span>
            <VisibleText text={name} />
          </span>
          <select className="field" value={own[name] ?? ''} onChange={(event) => choose(name, event.target.value)}>
            <option value="">Default</option>
            {POSTURES.map((posture) => (
              <option key={posture} value={posture}>
                {WORDS[posture]}
              </option>
            ))}
          </select>
        </label>
      ))}
    </section>
  )
}
