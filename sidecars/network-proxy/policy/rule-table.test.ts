import { describe, expect, it } from 'vitest'
import type { SessionId } from '../../protocol/ids.ts'
import { rule, rules } from '../test-kit/proxy-fixture.ts'
import { InvalidRule, RuleTable, type Destination } from './rule-table.ts'

const to = (host: string, port = 443, protocol: Destination['protocol'] = 'https'): Destination => ({
  host,
  port,
  protocol,
})

describe('RuleTable', () => {
  it('finds the deny and the allow that speak about a host, most specific first', () => {
    const table = new RuleTable(1, rules('allow **.a.test', 'allow x.a.test', 'deny *.x.a.test'))
    expect(table.match(to('x.a.test'), undefined)).toMatchObject({
      allow: { pattern: 'x.a.test' },
      deny: undefined,
      allowsExactly: true,
    })
    expect(table.match(to('y.x.a.test'), undefined)).toMatchObject({
      allow: { pattern: '**.a.test' },
      deny: { pattern: '*.x.a.test' },
      allowsExactly: false,
    })
  })

  it('P11 a port in the pattern or beside it limits the rule, no port means all', () => {
    const table = new RuleTable(1, [
      rule('allow a.test:8443'),
      rule('allow b.test', { port: 80 }),
      rule('allow c.test'),
    ])
    expect(table.match(to('a.test', 8443), undefined).allow).toBeDefined()
    expect(table.match(to('a.test', 443), undefined).allow).toBeUndefined()
    expect(table.match(to('b.test', 80), undefined).allow).toBeDefined()
    expect(table.match(to('b.test', 443), undefined).allow).toBeUndefined()
    expect(table.match(to('c.test', 1), undefined).allow).toBeDefined()
  })

  it('a rule of a session is for that session alone', () => {
    const sessionId = 'ses_1' as SessionId
    const table = new RuleTable(1, [rule('allow a.test', { scope: 'session', sessionId })])
    expect(table.match(to('a.test'), sessionId).allow).toBeDefined()
    expect(table.match(to('a.test'), 'ses_2' as SessionId).allow).toBeUndefined()
    expect(table.match(to('a.test'), undefined).allow).toBeUndefined()
  })

  it('a session rule without a session matches nobody', () => {
    const table = new RuleTable(1, [rule('allow a.test', { scope: 'session' })])
    expect(table.match(to('a.test'), undefined).allow).toBeUndefined()
  })

  it('a rule for one protocol leaves the others alone; http covers the WebSocket that starts as a request', () => {
    const table = new RuleTable(1, [rule('allow a.test', { protocol: 'http' })])
    expect(table.match(to('a.test', 80, 'http'), undefined).allow).toBeDefined()
    expect(table.match(to('a.test', 80, 'websocket'), undefined).allow).toBeDefined()
    expect(table.match(to('a.test', 80, 'https'), undefined).allow).toBeUndefined()
    expect(table.match(to('a.test', 80, 'socks5Tcp'), undefined).allow).toBeUndefined()
  })

  it('a rule for an address means every zone of it', () => {
    const table = new RuleTable(1, rules('deny fe80::1'))
    expect(table.match(to('fe80::1%eth0'), undefined).deny).toBeDefined()
  })

  it('is refused whole, naming the rule, when one pattern is bad', () => {
    expect(() => new RuleTable(1, rules('allow a.test', 'deny *'))).toThrow(InvalidRule)
    expect(() => new RuleTable(1, rules('allow a.test', 'deny *'))).toThrow(/^rules\[1\]\.pattern: /)
  })
})
