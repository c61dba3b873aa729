/** Rules: commands and hosts, what is wrong in the files, a test box, and a place to write one. */
import { useState, type ReactNode } from 'react'
import { Button } from '../components/button.tsx'
import { PageBody, PageHead } from '../components/page.tsx'
import { countOf } from '../components/quantities.ts'
import { SearchField } from '../components/search-field.tsx'
import { EmptyState } from '../components/states.tsx'
import { ToggleChip } from '../components/chip.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useToasts } from '../components/toasts.tsx'
import { Icon } from '../components/icon.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import { ProjectList } from './project-list.tsx'
import { RuleEditor } from './rule-editor.tsx'
import { RuleImport } from './rule-import.tsx'
import { RuleRow } from './rule-row.tsx'
import { RuleTestBox } from './rule-test-box.tsx'
import {
  filterRules,
  passesFilter,
  ruleSource,
  selectRuleProblems,
  selectRules,
  type RuleFilter,
  type RuleKind,
} from './selectors.ts'
import './rules-page.css'

const FILTERS: readonly { id: RuleFilter; title: string }[] = [
  { id: 'neverFired', title: 'Never fired' },
  { id: 'flagged', title: 'With a remark' },
]

/** Imported lists hold thousands; the search finds what is not drawn, too. */
const ROWS_A_STEP = 100

export function RulesPage({ id }: { id: string | null }): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const rules = useFeed(selectRules)
  const problems = useFeed(selectRuleProblems)
  const chosenKind = rules.find((rule) => rule.id === id)?.kind
  const [kind, setKind] = useState<RuleKind>(chosenKind ?? 'command')
  const [query, setQuery] = useState('')
  const [filter, setFilter] = useState<RuleFilter>('all')
  const [limit, setLimit] = useState(ROWS_A_STEP)
  const found = filterRules(rules, kind, query)
  const shown = found.filter((rule) => passesFilter(rule, filter))
  const drawn = shown.filter((rule, index) => index < limit || rule.id === id)
  const count = (of: RuleKind): number => rules.filter((rule) => rule.kind === of).length

  const add = async (text: string): Promise<string | null> => {
    const outcome = await invoke('rules.add', text)
    if (!outcome.ok) return outcome.message
    toasts.show({
      message: 'The rule is in force',
      undo: { label: 'Undo', run: () => void invoke('rules.remove', outcome.value.ruleId) },
    })
    return null
  }

  return (
    <>
      <PageHead title="Rules">
        <SearchField label="Search rules" value={query} onChange={setQuery} />
      </PageHead>
      <PageBody>
        {problems.length > 0 && (
          <ul className="rule-problems" aria-label="Problems in rule files">
            {problems.map((problem) => (
              <li key={`${problem.file}:${problem.line} ${problem.message}`}>
                <Icon name="warning" />
                <span>
                  <span className="code">{ruleSource({ source: problem.file, line: problem.line })}</span>{' '}
                  <VisibleText text={problem.message} />. Nothing in this file became more permissive.
                </span>
              </li>
            ))}
          </ul>
        )}
        <RuleTestBox />
        <section>
          <div className="rule-tabs">
            <Tabs
              label="Kind of rule"
              tabs={[
                { id: 'command', title: 'Commands', count: count('command') },
                { id: 'network', title: 'Hosts', count: count('network') },
              ]}
              current={kind}
              onChange={setKind}
              panelId="rules-panel"
            />
            <div className="rule-filter" role="group" aria-label="Rules shown">
              {FILTERS.map(({ id: of, title }) => (
                <ToggleChip key={of} on={filter === of} onToggle={() => setFilter(filter === of ? 'all' : of)}>
                  {title} <span className="meta">{found.filter((rule) => passesFilter(rule, of)).length}</span>
                </ToggleChip>
              ))}
            </div>
          </div>
          <div
            id="rules-panel"
            role="tabpanel"
            aria-label={kind === 'command' ? 'Rules for commands' : 'Rules for hosts'}
          >
            {shown.length === 0 ? (
              <EmptyState
                title={rules.some((rule) => rule.kind === kind) ? 'No rule matches.' : 'No rule of this kind yet.'}
              >
                <p>Without a rule you are asked. Answering “Always” writes one here.</p>
              </EmptyState>
            ) : (
              <ul>
                {drawn.map((rule) => (
                  <RuleRow key={rule.id} rule={rule} isChosen={rule.id === id} />
                ))}
              </ul>
            )}
            {drawn.length < shown.length && (
              <Button tone="quiet" onClick={() => setLimit(limit + ROWS_A_STEP)}>
                Show more of {countOf(shown.length, 'rule')}
              </Button>
            )}
          </div>
        </section>
        <section aria-labelledby="new-rule-title" className="new-rule">
          <h2 id="new-rule-title">Write a rule</h2>
          <RuleEditor initialText="" saveLabel="Add rule" onSave={add} />
        </section>
        <ProjectList />
        <RuleImport />
      </PageBody>
    </>
  )
}
