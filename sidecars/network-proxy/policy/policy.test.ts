import { describe, expect, it } from 'vitest'
import type { SessionId } from '../../protocol/ids.ts'
import { rules } from '../test-kit/proxy-fixture.ts'
import { Policy, type PolicySettings } from './policy.ts'
import { RuleTable, type Destination } from './rule-table.ts'

const SETTINGS: PolicySettings = {
  enabled: true,
  mode: 'full',
  allowLocalBinding: false,
  unknownHost: 'ask',
  limitedAllowsWebsocket: false,
  unixSockets: { allowAll: false, paths: {} },
}

function policy(texts: string[], settings: Partial<PolicySettings> = {}): Policy {
  return new Policy({ ...SETTINGS, ...settings }, () => new Set(), new RuleTable(1, rules(...texts)))
}

/** The verdict in short: allow, ask, or the reason of the refusal. */
function verdict(of: Policy, host: string, more: Partial<Destination> = {}, approved = false): string {
  const ruling = of.judge({ host, port: 443, protocol: 'https', ...more }, undefined, approved)
  return ruling.verdict === 'deny' ? ruling.refusal.reason : ruling.verdict
}

describe('precedence', () => {
  it('deny beats allow however specific, allow beats ask, unknown is asked about or refused', () => {
    const p = policy(['allow a.test', 'allow x.b.test', 'deny **.b.test'])
    expect(verdict(p, 'a.test')).toBe('allow')
    expect(verdict(p, 'x.b.test')).toBe('denied')
    expect(verdict(p, 'c.test')).toBe('ask')
    expect(verdict(policy([], { unknownHost: 'block' }), 'c.test')).toBe('not_allowed')
  })

  it('a deny and the local guard are stronger than an approval', () => {
    const p = policy(['deny a.test'])
    expect(verdict(p, 'a.test', {}, true)).toBe('denied')
    expect(verdict(p, '10.0.0.1', {}, true)).toBe('not_allowed_local')
    expect(verdict(p, 'b.test', {}, true)).toBe('allow')
  })

  it('a verdict is not carried over to another destination, session or set of rules', () => {
    const session = rules('allow own.test').map((rule) => ({
      ...rule,
      scope: 'session' as const,
      sessionId: 'ses_1' as SessionId,
    }))
    const p = new Policy({ ...SETTINGS, unknownHost: 'block' }, () => new Set(), new RuleTable(1, session))
    const of = (more: Partial<Destination>, sessionId?: string) =>
      p.judge({ host: 'own.test', port: 443, protocol: 'https', ...more }, sessionId as SessionId | undefined).verdict
    expect([of({}, 'ses_1'), of({}, 'ses_1'), of({}), of({}, 'ses_2'), of({}, 'ses_1')]).toEqual([
      'allow',
      'allow',
      'deny',
      'deny',
      'allow',
    ])
    p.setRules(2, [...session, ...rules('deny *:444')])
    expect([of({}, 'ses_1'), of({ port: 444 }, 'ses_1'), of({}, 'ses_1')]).toEqual(['allow', 'deny', 'allow'])
    p.setRules(3, [])
    expect(of({}, 'ses_1')).toBe('deny')
    p.configure({ ...SETTINGS, unknownHost: 'ask' })
    expect(of({}, 'ses_1')).toBe('ask')
  })

  it('an empty list of rules allows nothing', () => {
    expect(verdict(policy([], { unknownHost: 'block' }), 'a.test')).toBe('not_allowed')
  })

  it('a disabled proxy refuses everything', () => {
    expect(verdict(policy(['allow a.test'], { enabled: false }), 'a.test')).toBe('proxy_disabled')
  })
})

describe('local and private literals', () => {
  it.each([
    ['allow 127.0.0.1', '127.0.0.1', 'allow'],
    ['allow localhost', 'localhost', 'allow'],
    ['allow localhost', '127.0.0.1', 'not_allowed_local'],
    ['allow *.localhost', 'foo.localhost', 'not_allowed_local'],
    ['allow foo.localhost', 'foo.localhost', 'allow'],
    ['allow *', '127.0.0.1', 'not_allowed_local'],
    ['allow *', 'localhost', 'not_allowed_local'],
    ['allow **.localhost', 'localhost', 'not_allowed_local'],
    ['allow local*', 'localhost', 'not_allowed_local'],
    ['allow 10.0.0.1:80', '10.0.0.1', 'not_allowed_local'],
    ['allow 10.0.0.1:443', '10.0.0.1', 'allow'],
    ['allow [fc00::1]', 'fc00::1', 'allow'],
    ['deny 127.0.0.1', '127.0.0.1', 'denied'],
  ])('with "%s" a request to %s is %s', (text, host, expected) => {
    expect(verdict(policy([text]), host)).toBe(expected)
  })

  it('with the guard lifted they are hosts like others, metadata services excepted', () => {
    const p = policy(['allow 169.254.169.254'], { allowLocalBinding: true })
    expect(verdict(p, '10.0.0.1')).toBe('ask')
    expect(verdict(p, '100.100.100.200')).toBe('not_allowed_local')
    expect(verdict(p, '169.254.169.254')).toBe('allow')
  })
})

describe('what a name resolved to', () => {
  it('one address outside the public internet spoils them all', () => {
    const p = policy([])
    expect(p.judgeAddresses(['93.184.216.34'])).toBeUndefined()
    expect(p.judgeAddresses(['93.184.216.34', '10.0.0.1'])).toMatchObject({ reason: 'not_allowed_local' })
  })

  it('the reason tells the kind of address, not the address', () => {
    expect(policy([]).judgeAddresses(['10.1.2.3'])?.detail).toBe('the name resolved to a private address')
  })

  it('with the guard lifted only metadata services are out', () => {
    const p = policy([], { allowLocalBinding: true })
    expect(p.judgeAddresses(['10.0.0.1'])).toBeUndefined()
    expect(p.judgeAddresses(['169.254.169.254'])).toMatchObject({ reason: 'not_allowed_local' })
  })
})

describe('limited mode', () => {
  const limited = policy(['allow a.test'], { mode: 'limited' })
  it.each([
    ['http', 'GET', 80, 'allow'],
    ['http', 'HEAD', 80, 'allow'],
    ['http', 'OPTIONS', 80, 'allow'],
    ['http', 'get', 80, 'method_not_allowed'],
    ['http', 'POST', 80, 'method_not_allowed'],
    ['http', 'TRACE', 80, 'method_not_allowed'],
    ['websocket', 'GET', 80, 'method_not_allowed'],
    ['https', 'CONNECT', 443, 'allow'],
    ['socks5Tcp', undefined, 443, 'allow'],
    ['socks5Tcp', undefined, 80, 'method_not_allowed'],
    ['socks5Udp', undefined, 443, 'method_not_allowed'],
  ] as const)('%s %s to port %s is %s', (protocol, method, port, expected) => {
    expect(verdict(limited, 'a.test', { protocol, port, ...(method ? { method } : {}) })).toBe(expected)
  })

  it('the method is looked at before anybody is asked about the host', () => {
    expect(verdict(limited, 'unknown.test', { protocol: 'http', method: 'POST' })).toBe('method_not_allowed')
  })

  it('WebSockets may be let in by the owner', () => {
    const p = policy(['allow a.test'], { mode: 'limited', limitedAllowsWebsocket: true })
    expect(verdict(p, 'a.test', { protocol: 'websocket', method: 'GET', port: 80 })).toBe('allow')
  })
})

it('P08 new rules are obeyed by the very next judgement, bad ones change nothing', () => {
  const p = policy(['allow a.test'])
  expect(verdict(p, 'a.test')).toBe('allow')
  p.setRules(2, rules('deny a.test'))
  expect([p.revision, verdict(p, 'a.test')]).toEqual([2, 'denied'])
  expect(() => p.setRules(3, rules('allow a.test', 'deny *'))).toThrow()
  expect([p.revision, verdict(p, 'a.test')]).toEqual([2, 'denied'])
})
