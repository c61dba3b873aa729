import type { RuleView } from '../../preload/api.ts'
import type { Audit } from '../audit/audit.ts'
import type { ProxyRules } from '../egress/proxy-rules.ts'
import type { Feed } from '../feed/feed.ts'
import type { Notices } from '../feed/notices.ts'
import { grantView, ruleView, type RuleViewContext, type Rules } from '../rules/rules.ts'

/** Counts of rules change with every command; the window need not know at once. */
const COUNT_INTERVAL_MS = 500

export interface RuleTablesOptions {
  rules: Rules
  proxyRules: ProxyRules
  feed: Feed
  notices: Notices
  audit: Pick<Audit, 'record'>
}

/** Shows rules and what is wrong with their files, and keeps the proxy's rules equal to ours. */
export class RuleTables {
  private timer: NodeJS.Timeout | undefined
  private shownProblems = ''
  private readonly dispose: () => void

  constructor(private readonly options: RuleTablesOptions) {
    this.dispose = options.rules.onChange(() => this.rulesChanged())
  }

  /** Everything again: rules, flags and problems. */
  refresh(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    const { rules, proxyRules, feed } = this.options
    const context: RuleViewContext = {
      all: rules.all(),
      heldBack: rules.forProxy().heldBack,
      notApplied: proxyRules.notApplied,
      firedOf: (id) => rules.firedOf(id),
    }
    const views = [
      ...rules.all().map((rule) => ruleView(rule, context)),
      ...rules.sessionGrants().map((grant) => grantView(grant, context)),
    ]
    const shown = new Set<string>()
    for (const view of views) {
      shown.add(view.id)
      if (!isEqual(feed.get('rules', view.id), view)) feed.set('rules', view.id, view)
    }
    for (const key of feed.keys('rules')) if (!shown.has(key)) feed.delete('rules', key)
  }

  /** Counts are old; they are shown anew soon. */
  countsChanged(): void {
    this.timer ??= setTimeout(() => this.refresh(), COUNT_INTERVAL_MS)
    this.timer.unref()
  }

  stop(): void {
    this.dispose()
    clearTimeout(this.timer)
  }

  private rulesChanged(): void {
    this.options.proxyRules.update(this.options.rules.forProxy().rules)
    this.refresh()
    this.showProblems()
  }

  private showProblems(): void {
    const { rules, feed, notices, audit } = this.options
    const problems = rules.problems()
    const text = JSON.stringify(problems)
    if (text === this.shownProblems) return
    this.shownProblems = text
    for (const key of feed.keys('ruleProblems')) feed.delete('ruleProblems', key)
    problems.forEach((problem, i) => feed.set('ruleProblems', `${problem.file}#${i}`, problem))
    const lines = problems.map(({ file, line, message }) => `${file}${line === null ? '' : `:${line}`}: ${message}`)
    audit.record({ kind: 'rules.loaded', files: rules.fileCount(), rules: rules.all().length, problems: lines })
    const [first] = lines
    if (first === undefined) notices.clear('rules')
    else
      notices.raise('rules', {
        level: 'error',
        message: `${first}. No allow rule of a broken file is in force; its other rules hold.`,
        ...(lines.length > 1 && { detail: lines.join('\n') }),
      })
  }
}

const isEqual = (a: RuleView | undefined, b: RuleView): boolean => JSON.stringify(a) === JSON.stringify(b)
