import { whyNotOffered } from '../../../sidecars/rules/banned-prefix.ts'
import { parseSingleRule } from '../../../sidecars/rules/rule-file.ts'
import { commandRuleText, hostRuleText, ruleWords } from '../../../sidecars/rules/rule-text.ts'
import type { Effect } from '../../../sidecars/rules/rule.ts'
import { InvalidPattern, parseRulePattern } from '../../../sidecars/protocol/host-pattern.ts'

/** One entry of another program's settings that becomes a rule. */
export interface ImportedRule {
  /** The rule as it would be written. */
  text: string
  words: string
  /** The entry it comes from, as written there. */
  from: string
  /** What the rule also permits that the entry did not; null when it says the same. */
  wider: string | null
}

/** What of a file of settings maps to rules of ours, and what does not. */
export interface ImportPreview {
  rules: ImportedRule[]
  unmapped: { from: string; why: string }[]
}

/** Collects a preview; an entry that cannot be said in our rules is named with the reason. */
export class ImportDraft {
  readonly preview: ImportPreview = { rules: [], unmapped: [] }
  private readonly seen = new Set<string>()

  leave(from: string, why: string): void {
    this.preview.unmapped.push({ from, why })
  }

  /** `wider`: see {@link ImportedRule}. An allow rule that the window would not offer is left out. */
  addCommand(from: string, words: readonly string[], effect: Effect, wider: string | null = null): void {
    const why = effect === 'allow' ? whyNotOffered(words) : undefined
    if (why !== undefined) return this.leave(from, `a rule for it would allow too much: ${why}`)
    this.addText(
      from,
      commandRuleText(
        words.map((word) => [word]),
        effect,
      ),
      wider,
    )
  }

  addHost(from: string, pattern: string, effect: Effect): void {
    try {
      const { port, ...host } = parseRulePattern(pattern, effect)
      this.addText(from, hostRuleText({ host, port, effect }), null)
    } catch (error) {
      if (!(error instanceof InvalidPattern)) throw error
      this.leave(from, error.message)
    }
  }

  /** A rule that is written in our syntax already; equal ones are taken once. */
  addText(from: string, text: string, wider: string | null): void {
    try {
      const rule = parseSingleRule(text)
      if (this.seen.has(rule.text)) return
      this.seen.add(rule.text)
      this.preview.rules.push({
        text: rule.text,
        words: ruleWords(rule),
        from,
        wider: rule.effect === 'allow' ? wider : null,
      })
    } catch (error) {
      this.leave(from, (error as Error).message)
    }
  }
}

/** Names what is wrong with the file as a whole. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
}

export const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
