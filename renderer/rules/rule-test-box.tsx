/** "Would this run?": a command or host through the rules in force, with the chain of the verdict. */
import { useState, type FormEvent, type ReactNode } from 'react'
import type { Invokes } from '../../preload/api.ts'
import { Chip } from '../components/chip.tsx'
import { ErrorNote } from '../components/states.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import { selectHome } from '../components/folder-path.ts'

type Judgement = Invokes['rules.check']['result']

const VERDICTS = {
  allow: { tone: 'allow', icon: 'check', words: 'would run without asking' },
  ask: { tone: 'accent', icon: 'question', words: 'would wait for you' },
  deny: { tone: 'deny', icon: 'blocked', words: 'would be refused' },
} as const

export function RuleTestBox(): ReactNode {
  const invoke = useInvoke()
  const home = useFeed(selectHome)
  const [text, setText] = useState('')
  const [folder, setFolder] = useState<string | null>(null)
  const [judged, setJudged] = useState<{ text: string; judgement: Judgement } | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const cwd = folder ?? home ?? '/'

  const check = (event: FormEvent): void => {
    event.preventDefault()
    if (text.trim() === '') return
    void invoke('rules.check', text, cwd).then((outcome) => {
      setFailure(outcome.ok ? null : outcome.message)
      setJudged(outcome.ok ? { text, judgement: outcome.value } : null)
    })
  }
  return (
    <section className="rule-test" aria-labelledby="rule-test-title">
      <h2 id="rule-test-title">Would this run?</h2>
      <form onSubmit={check} className="rule-test-form">
        <input
          className="field code"
          aria-label="Command or host to test"
          placeholder="git push --force, or example.org:443"
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <span className="dim" aria-hidden="true">
          in
        </span>
        <input
          className="field code rule-test-folder"
          aria-label="Folder to test in"
          spellCheck={false}
          autoComplete="off"
          value={cwd}
          onChange={(event) => setFolder(event.target.value)}
        />
        <button type="submit" className="button plain">
          Check
        </button>
      </form>
      {failure && <ErrorNote message={failure} />}
      <div role="status">
        {judged && (
          <div className="rule-test-answer">
            <p>
              <Chip tone={VERDICTS[judged.judgement.verdict].tone} icon={VERDICTS[judged.judgement.verdict].icon}>
                {judged.judgement.verdict}
              </Chip>{' '}
              <VisibleText code text={judged.text} /> {VERDICTS[judged.judgement.verdict].words}
            </p>
            <ol className="rule-chain">
              {judged.judgement.chain.map((step, index) => (
                <li key={index}>
                  <VisibleText text={step} />
                </li>
              ))}
            </ol>
          </div>
        )}
      </div>
    </section>
  )
}
