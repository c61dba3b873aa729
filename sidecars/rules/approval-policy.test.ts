import { expect, it } from 'vitest'
import { policyAction, type PolicySituation } from './approval-policy.ts'

const SITUATIONS: PolicySituation[] = ['ordinary', 'escalation', 'rulePrompt', 'dangerous', 'sandboxDenial']
const granular = (sandbox_approval: boolean, rules: boolean) => ({
  granular: { sandbox_approval, rules, skill_approval: true, request_permissions: true, mcp_elicitations: true },
})

it.each([
  ['on-request', 'on-request', 'run ask ask ask report'],
  ['untrusted', 'untrusted', 'ask ask ask ask ask'],
  ['never', 'never', 'run refuse refuse refuse report'],
  ['granular, all', granular(true, true), 'run ask ask ask report'],
  ['granular without escalation', granular(false, true), 'run refuse ask ask report'],
  ['granular without rules', granular(true, false), 'run ask refuse refuse report'],
] as const)('%s: ordinary, escalation, rule, dangerous, denial', (_, policy, actions) => {
  expect(SITUATIONS.map((situation) => policyAction(policy, situation)).join(' ')).toBe(actions)
})
