import type { RuleId } from '../protocol/ids.ts'
import type { CommandTrait } from './classify-command.ts'
import { placeName, type Effect, type Rule } from './rule.ts'
import { patternWords } from './rule-text.ts'
import { formatHostPattern } from '../protocol/host-pattern.ts'

/** One link of the chain that led to a verdict. */
export interface JudgedStep {
  effect: Effect
  /** The program, host or part of the text that this is about, as written. */
  about: string
  /** Why, as a clause: "no rule matches", `"ask" in default.rules:14`. */
  because: string
  /** `open`: only a rule is missing. `unclear`: no rule could allow it, because it is not fully understood. */
  cause: 'rule' | 'open' | 'unclear'
  /** The rule that decided here. */
  rule?: Rule
  /** Its id, or that of a decision that holds for the session. */
  ruleId?: RuleId
  /** The allow rule that nearly matched and what was missing. */
  nearly?: string
  /** The words that were judged, when all of them are known. */
  words?: string[]
  /** What the program is known to do. */
  traits?: CommandTrait[]
}

export interface Judgement {
  verdict: Effect
  chain: JudgedStep[]
}

/** The strictest of the steps; nothing to judge asks. */
export function judgementOf(chain: JudgedStep[]): Judgement {
  const verdict = (['deny', 'ask'] as const).find((effect) => chain.some((step) => step.effect === effect))
  return { verdict: verdict ?? (chain.length === 0 ? 'ask' : 'allow'), chain }
}

/** The step that explains the verdict, a written rule before anything else. */
export function decidingStep({ verdict, chain }: Judgement): JudgedStep | undefined {
  const steps = chain.filter((step) => step.effect === verdict)
  return steps.find((step) => step.rule) ?? steps[0]
}

/** "git push: no rule matches (nearly: allow git status in default.rules:2, word 2 is "push")". */
export function stepText({ effect, about, because, nearly }: JudgedStep): string {
  const verb = { allow: 'allowed', ask: 'asks', deny: 'denied' }[effect]
  return `${about}: ${verb}, ${because}${nearly === undefined ? '' : ` (nearly: ${nearly})`}`
}

/** A step as data for other programs. */
export interface StepView {
  effect: Effect
  about: string
  because: string
  cause: JudgedStep['cause']
  /** The rule that decided here; null when none did. */
  rule: { id: RuleId; text: string; file: string | null; line: number | null; justification: string | null } | null
  nearly: string | null
  traits: CommandTrait[]
}

export function stepView({ effect, about, because, cause, rule, nearly, traits = [] }: JudgedStep): StepView {
  return {
    effect,
    about,
    because,
    cause,
    rule: rule
      ? {
          id: rule.id,
          text: rule.text,
          file: rule.place?.file ?? null,
          line: rule.place?.line ?? null,
          justification: rule.justification ?? null,
        }
      : null,
    nearly: nearly ?? null,
    traits,
  }
}

/** Whether every program only reads and nothing was left unclear. */
export function isKnownSafe({ chain }: Judgement): boolean {
  return chain.length > 0 && chain.every(({ traits }) => traits?.some(({ kind }) => kind === 'safe') ?? false)
}

/** Why the most dangerous part is dangerous, and which it is; undefined when nothing dangerous is known. */
export function dangerOf({ chain }: Judgement): { about: string; reason: string } | undefined {
  for (const { about, traits } of chain) {
    const danger = traits?.find(({ kind }) => kind === 'dangerous')
    if (danger) return { about, reason: danger.reason }
  }
  return undefined
}

/** How a rule is named as a cause: `"ask" in default.rules:14: rewrites history`. */
export function ruleCause(rule: Rule): string {
  const reason = rule.justification === undefined ? '' : `: ${rule.justification}`
  return `"${rule.effect}" in ${placeName(rule)}${reason}`
}

/** A rule in a few words: "allow git status in default.rules:9". */
export function ruleName(rule: Rule): string {
  const what =
    rule.kind === 'command'
      ? patternWords(rule.pattern)
      : `${formatHostPattern(rule.host)}${rule.port === undefined ? '' : `:${rule.port}`}`
  return `${rule.effect} ${what} in ${placeName(rule)}`
}
