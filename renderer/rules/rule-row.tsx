/** One rule: as written, in words, where it stands, whether it ever fired, and what is odd about it. */
import { useState, type ReactNode } from 'react'
import type { RuleView } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { Chip, type ChipTone } from '../components/chip.tsx'
import type { IconName } from '../components/icon.tsx'
import { countOf } from '../components/quantities.ts'
import { Ago } from '../components/time-text.tsx'
import { useToasts } from '../components/toasts.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useInvoke } from '../feed/feed-context.tsx'
import { RuleEditor } from './rule-editor.tsx'
import { ruleSource } from './selectors.ts'

const EFFECTS: Record<RuleView['effect'], { tone: ChipTone; icon: IconName }> = {
  allow: { tone: 'allow', icon: 'check' },
  ask: { tone: 'accent', icon: 'question' },
  deny: { tone: 'deny', icon: 'blocked' },
}

export function RuleRow({ rule, isChosen }: { rule: RuleView; isChosen: boolean }): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const [editing, setEditing] = useState(false)
  // Files of projects and of other programs go by their whole path, and are changed there.
  const isForeign = rule.source.startsWith('/')

  const remove = (): void => {
    void invoke('rules.remove', rule.id).then((outcome) => {
      if (!outcome.ok) return toasts.show({ tone: 'failure', message: `The rule still holds. ${outcome.message}` })
      // A rule of a session has no text in a file to bring back.
      const undo = rule.scope === 'always' ? { label: 'Undo', run: () => bringBack() } : undefined
      toasts.show({ message: `Removed: ${rule.words}`, undo })
    })
  }
  const bringBack = (): void => {
    void invoke('rules.add', rule.text).then((outcome) =>
      toasts.show(
        outcome.ok ? { message: `Back in force: ${rule.words}` } : { tone: 'failure', message: outcome.message },
      ),
    )
  }
  /** The new text must hold before the old one goes: in between both do, never neither. */
  const replace = async (text: string): Promise<string | null> => {
    const added = await invoke('rules.add', text)
    if (!added.ok) return added.message
    if (added.value.ruleId !== rule.id) {
      const removed = await invoke('rules.remove', rule.id)
      if (!removed.ok) return `The new rule holds, and so does the old one. ${removed.message}`
    }
    setEditing(false)
    return null
  }

  return (
    <li className={`rule-row ${isChosen ? 'chosen' : ''}`}>
      <Chip {...EFFECTS[rule.effect]}>{rule.effect}</Chip>
      <div className="rule-main">
        <p>
          <VisibleText text={rule.words} />
          {rule.scope === 'session' && <span className="dim"> · for one session</span>}
        </p>
        {editing ? (
          <RuleEditor
            initialText={rule.text}
            saveLabel="Save rule"
            onSave={replace}
            onCancel={() => setEditing(false)}
          />
        ) : (
          <p className="code rule-written">
            <VisibleText code text={rule.text} />
          </p>
        )}
        <p className="meta">
          {ruleSource(rule)} ·{' '}
          {rule.lastFiredAtMs === null ? (
            'never fired'
          ) : (
            <>
              fired {countOf(rule.fired, 'time')}, last <Ago atMs={rule.lastFiredAtMs} />
            </>
          )}
        </p>
        {rule.flag && (
          <p>
            <Chip tone="warn" icon="warning">
              {rule.flag}
            </Chip>
          </p>
        )}
      </div>
      <div className="rule-acts">
        {rule.scope === 'always' && !editing && !isForeign && (
          <Button tone="quiet" onClick={() => setEditing(true)} aria-label={`Edit rule: ${rule.words}`}>
            Edit
          </Button>
        )}
        {!isForeign && (
          <Button tone="quiet" onClick={remove} aria-label={`Remove rule: ${rule.words}`}>
            Remove
          </Button>
        )}
      </div>
    </li>
  )
}
