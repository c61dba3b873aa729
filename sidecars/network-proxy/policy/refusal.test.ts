import { describe, expect, it } from 'vitest'
import { connectRefusal, httpRefusal, refusalText, sanitize, type Refusal } from './refusal.ts'

const denied: Refusal = { reason: 'denied', source: 'baseline_policy' }
const target = { host: 'a.test', port: 80, protocol: 'http' as const }

describe('the words of a refusal', () => {
  it.each([
    ['one\r\nTwo: 3', 'one Two: 3'],
    ['<b>bold</b>', 'bbold/b'],
    ['a\u200bb\u202ec\u2028d', 'a b c d'],
    ['  many    blanks ', 'many blanks'],
    ['tab\tnul\0', 'tab nul'],
    ['x'.repeat(600), 'x'.repeat(500)],
  ])('P20 %j becomes %j', (words, harmless) => {
    expect(sanitize(words)).toBe(harmless)
  })

  it('P20 neither a header nor a body carries anything a rule’s reason could smuggle in', () => {
    const refusal: Refusal = { reason: 'policy_denied', source: 'decider', detail: 'no\r\nX-Injected: <1>\r\n\r\n' }
    for (const answer of [httpRefusal(refusal, target, true), connectRefusal(refusal)]) {
      const text = answer.toString('latin1')
      const [head = '', body = ''] = text.split('\r\n\r\n')
      expect(head).not.toContain('X-Injected')
      expect(body).not.toMatch(/[\r<>]/)
      expect(text).toContain('policy_denied')
    }
  })

  it('the same refusal of another host, port or form is another answer', () => {
    const of = (host: string, port: number, keepAlive: boolean, form: 'json' | 'text') =>
      httpRefusal(denied, { ...target, host, port }, keepAlive, form).toString()
    expect(of('a.test', 80, true, 'json')).toBe(of('a.test', 80, true, 'json'))
    const answers = [of('a.test', 80, true, 'json'), of('b.test', 80, true, 'json'), of('a.test', 81, true, 'json')]
    expect(new Set([...answers, of('a.test', 80, false, 'json'), of('a.test', 80, true, 'text')]).size).toBe(5)
  })

  it('names the kind of rule, that it is meant, and who can change it', () => {
    expect(refusalText(denied)).toMatch(/deny rule.*deliberate.*owner of this machine/)
  })
})
