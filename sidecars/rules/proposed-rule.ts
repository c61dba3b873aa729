import type { Verdict } from '../protocol/decision.ts'
import type { ConnectionSubject, Subject } from '../protocol/subject.ts'
import { whyNotOffered } from './banned-prefix.ts'
import type { JudgedStep } from './judgement.ts'
import { commandRuleText, hostRuleText } from './rule-text.ts'

/** More rules than this for one line are not something a person reads before agreeing. */
const MOST_RULES = 5

/**
 * Texts of the narrowest rules that would decide a command like this one from now on, or undefined when
 * none may be offered: a part is not understood, a rule asks on purpose, or the words are a banned prefix.
 */
export function proposeCommandRules(chain: readonly JudgedStep[], verdict: Verdict): string[] | undefined {
  const steps = chain.filter((step) => step.effect === 'ask')
  if (steps.length === 0 || steps.length > MOST_RULES) return undefined
  const texts = new Set<string>()
  for (const { cause, words } of steps) {
    if (cause !== 'open' || !words) return undefined
    if (verdict === 'allow' && whyNotOffered(words) !== undefined) return undefined
    texts.add(
      commandRuleText(
        words.map((word) => [word]),
        verdict,
      ),
    )
  }
  return [...texts]
}

/** The rule for exactly this host, and this port unless `anyPort`. */
export function proposeHostRule(
  { host, port }: Pick<ConnectionSubject, 'host' | 'port'>,
  verdict: Verdict,
  anyPort = false,
): string {
  return hostRuleText({ host: { kind: 'exact', host }, ...(anyPort || port === 0 ? {} : { port }), effect: verdict })
}

/** The command line that a foreign agent's tool would run, when its subject is one. */
export function shellTextOf(subject: Extract<Subject, { kind: 'toolUse' }>): string | undefined {
  if (subject.toolName !== 'Bash') return undefined
  const { command } = (subject.input ?? {}) as { command?: unknown }
  return typeof command === 'string' ? command : undefined
}
