/** Rules from the settings of other programs: what each file would bring, what it cannot, then one click. */
import { useEffect, useId, useState, type ReactNode } from 'react'
import type { ImportPreviewView, ImportSourceView } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { countOf } from '../components/quantities.ts'
import { ErrorNote } from '../components/states.tsx'
import { useToasts } from '../components/toasts.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'

export function RuleImport(): ReactNode {
  const invoke = useInvoke()
  const [sources, setSources] = useState<readonly ImportSourceView[]>([])
  const home = useFeed(selectHome)
  const [open, setOpen] = useState<string | null>(null)
  const [preview, setPreview] = useState<ImportPreviewView | null>(null)
  const [failure, setFailure] = useState<string | null>(null)

  useEffect(() => {
    void invoke('rules.importSources').then((outcome) => {
      if (outcome.ok) setSources(outcome.value)
    })
  }, [invoke])

  const look = (path: string): void => {
    void invoke('rules.importPreview', path).then((outcome) => {
      setFailure(outcome.ok ? null : outcome.message)
      setPreview(outcome.ok ? outcome.value : null)
      setOpen(path)
    })
  }
  const readsCodex = useFeed((state) => state.settings?.readCodexRules) ?? false
  const follow = (readCodexRules: boolean): void => {
    void invoke('settings.set', { readCodexRules }).then((outcome) => setFailure(outcome.ok ? null : outcome.message))
  }
  if (sources.length === 0) return null
  return (
    <section className="rule-import" aria-labelledby="rule-import-title">
      <h2 id="rule-import-title">Take rules from other programs</h2>
      {sources.some(({ path }) => path.endsWith('.rules')) && (
        <label>
          <input type="checkbox" checked={readsCodex} onChange={(event) => follow(event.target.checked)} /> Follow the
          Codex CLI’s own rules as they are, instead of copying them
        </label>
      )}
      <ul>
        {sources.map(({ agentName, path }) => (
          <li key={path}>
            <div className="rule-import-source">
              <span>
                {agentName} <VisibleText code text={shortenPath(path, home)} />
              </span>
              <Button onClick={() => look(path)} aria-expanded={open === path} aria-label={`Look into ${path}`}>
                Look into it
              </Button>
            </div>
            {open === path && failure && <ErrorNote message={failure} />}
            {open === path && preview && <Preview key={path} preview={preview} onDone={() => setOpen(null)} />}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Preview({ preview, onDone }: { preview: ImportPreviewView; onDone: () => void }): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const titleId = useId()
  const [failure, setFailure] = useState<string | null>(null)
  // What would permit more than it did there is taken only when the owner says so.
  const [chosen, setChosen] = useState(
    () => new Set(preview.rules.filter(({ wider }) => wider === null).map(({ text }) => text)),
  )
  const toggle = (text: string): void => {
    const next = new Set(chosen)
    if (!next.delete(text)) next.add(text)
    setChosen(next)
  }
  const add = (): void => {
    void invoke('rules.import', [...chosen]).then((outcome) => {
      setFailure(outcome.ok ? null : outcome.message)
      if (!outcome.ok) return
      toasts.show({ message: `${countOf(outcome.value.ruleIds.length, 'rule')} in force` })
      onDone()
    })
  }
  return (
    <div className="rule-import-preview">
      {preview.rules.length === 0 && <p>Nothing in it can be said in rules.</p>}
      <ul aria-label="Rules it would bring">
        {preview.rules.map(({ text, words, from, wider }) => (
          <li key={text}>
            <label>
              <input type="checkbox" checked={chosen.has(text)} onChange={() => toggle(text)} />{' '}
              <VisibleText text={words} />
            </label>
            <p className="meta">
              <VisibleText text={from} />
              {wider && <> · {wider}</>}
            </p>
          </li>
        ))}
      </ul>
      {preview.unmapped.length > 0 && (
        <details>
          <summary id={titleId}>{countOf(preview.unmapped.length, 'entry', 'entries')} without a rule here</summary>
          <ul aria-labelledby={titleId}>
            {preview.unmapped.map(({ from, why }) => (
              <li key={from}>
                <VisibleText code text={from} /> <span className="dim">{why}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {failure && <ErrorNote message={failure} />}
      <Button tone="primary" inert={chosen.size === 0} onClick={add}>
        Add {countOf(chosen.size, 'rule')}
      </Button>
    </div>
  )
}
