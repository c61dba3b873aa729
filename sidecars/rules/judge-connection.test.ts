import { describe, expect, it } from 'vitest'
import type { SessionId } from '../protocol/ids.ts'
import { judgeConnection, rulesForProxy } from './judge-connection.ts'
import { stepText } from './judgement.ts'
import { parseRuleFile } from './rule-file.ts'
import type { HostRule } from './rule.ts'

const A = 'ses_a' as SessionId
const B = 'ses_b' as SessionId
function rulesOf(text: string): HostRule[] {
  const file = parseRuleFile('n.rules', text)
  expect(file.problems).toEqual([])
  return file.rules.filter((rule): rule is HostRule => rule.kind === 'network')
}
const judge = (rules: HostRule[], host: string, port = 443, session = A) =>
  judgeConnection({ host, port, protocol: 'https' }, session, rules)

describe('judgeConnection', () => {
  const rules = rulesOf(`
network_rule("**.example.org", decision="allow")
network_rule("bad.example.org", decision="deny")
network_rule("ask.example.org", decision="prompt")
network_rule("127.0.0.1", port=18080, decision="allow")
network_rule("plain.test", "http", "allow")
`)

  it.each([
    ['a.example.org', 443, 'allow'],
    ['bad.example.org', 443, 'deny'],
    ['ask.example.org', 443, 'ask'],
    ['other.test', 443, 'ask'],
    ['127.0.0.1', 18080, 'allow'],
    ['127.0.0.1', 18081, 'ask'],
    ['plain.test', 443, 'ask'],
  ])('judges %s:%s as %s (P11: a port in a rule counts)', (host, port, verdict) => {
    expect(judge(rules, host, port).verdict).toBe(verdict)
  })

  it('P07 depends on host, port and rules only, never on earlier verdicts or order', () => {
    const verdicts = Array.from({ length: 200 }, (_, i) => {
      if (i % 3 === 0) judge(rules, 'a.example.org')
      return judge(i % 2 === 0 ? rules : rules.toReversed(), 'unlisted.test').verdict
    })
    expect(new Set(verdicts)).toEqual(new Set(['ask']))
  })

  it('keeps a session rule to its session', () => {
    const session: HostRule = { ...rulesOf('network_rule("127.0.0.1", port=5000, decision="allow")')[0]!, sessionId: A }
    expect([judge([session], '127.0.0.1', 5000, A).verdict, judge([session], '127.0.0.1', 5000, B).verdict]).toEqual([
      'allow',
      'ask',
    ])
  })

  it('says which rule decided or nearly did', () => {
    const text = (host: string, port = 443) => judge(rules, host, port).chain.map(stepText)
    expect(text('bad.example.org')).toEqual(['bad.example.org:443: denied, "deny" in n.rules:3'])
    expect(text('127.0.0.1', 1)).toEqual([
      '127.0.0.1:1: asks, no rule names this host (nearly: allow 127.0.0.1:18080 in n.rules:5, but the port is 1)',
    ])
  })
})

describe('rulesForProxy', () => {
  it('gives canonical rules and holds back what a question overlaps', () => {
    const rules = rulesOf(`
network_rule("**.example.org", decision="allow")
network_rule("*.other.test", port=443, decision="allow")
network_rule("bad.example.org", "https", "deny")
network_rule("ask.example.org", decision="prompt")
network_rule("x.other.test", port=80, decision="prompt")
`)
    const { rules: sent, heldBack } = rulesForProxy(rules)
    expect(sent).toEqual([
      { id: rules[1]!.id, pattern: '*.other.test', port: 443, verdict: 'allow', scope: 'always' },
      { id: rules[2]!.id, pattern: 'bad.example.org', protocol: 'https', verdict: 'deny', scope: 'always' },
    ])
    expect([...heldBack]).toEqual([[rules[0], rules[3]]])
  })
})
