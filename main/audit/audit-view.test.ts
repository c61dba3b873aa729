import { describe, expect, it } from 'vitest'
import type { ProcessId, RequestId, RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import { auditView, namesIn } from './audit-view.ts'
import { MASK, maskSubject } from './masked-subject.ts'

const command: Subject = {
  kind: 'command',
  argv: ['git', 'commit', '-m', 'two words'],
  cwd: '/w',
  envChanges: {
    CI: '1',
    API_TOKEN: 's3cret',
    GIT_AUTHOR_NAME: 'me',
    AWS_SECRET_ACCESS_KEY: 'k',
    EMPTY_KEY: '',
    GONE: null,
  },
  tty: false,
  stdin: 'none',
  sandbox: 'none',
}

describe('auditView', () => {
  it('says who decided what', () => {
    const view = auditView({
      seq: 4,
      atMs: 5,
      kind: 'request.decided',
      requestId: 'req_1' as RequestId,
      sessionId: 'ses_1' as SessionId,
      decision: {
        verdict: 'deny',
        scope: 'session',
        actor: { kind: 'person', via: 'window' },
        ruleId: 'rul_1' as RuleId,
        subjectHash: 'h',
        decidedAtMs: 5,
      },
    })
    expect(view).toEqual({
      seq: 4,
      atMs: 5,
      kind: 'request.decided',
      summary: 'Denied for the session by you in the window: req_1',
      sessionId: 'ses_1',
    })
  })

  it('names the rule when a rule decided', () => {
    const decision = {
      verdict: 'allow' as const,
      scope: 'once' as const,
      actor: { kind: 'rule' as const },
      ruleId: 'rul_9' as RuleId,
      subjectHash: 'h',
      decidedAtMs: 5,
    }
    const record = { seq: 1, atMs: 0, kind: 'request.decided' as const, requestId: 'r' as RequestId, decision }
    const shown = (more: object) => auditView({ ...record, sessionId: 's' as SessionId, ...more }).summary
    expect(shown({})).toBe('Allowed by a rule: r (rul_9)')
    const chain = ['a: asks, no rule matches', 'git commit: allowed, "allow" in default.rules:2']
    expect(shown({ chain })).toBe('Allowed by a rule: r ("allow" in default.rules:2)')
  })

  it('shows a command with its parts told apart, shortened', () => {
    const asked = {
      seq: 1,
      atMs: 0,
      kind: 'request.asked' as const,
      requestId: 'r' as RequestId,
      sessionId: 's' as SessionId,
      processId: 'p' as ProcessId,
      gate: 'ask' as const,
      subjectHash: 'h',
    }
    expect(auditView({ ...asked, subject: command }).summary).toBe("Asked: git commit -m 'two words'")
    const long = auditView({ ...asked, subject: { ...command, argv: ['x'.repeat(5000)] } }).summary
    expect(long.length).toBeLessThan(320)
  })

  it('calls what ended by the words with which it began, where the page has them', () => {
    const named = { seq: 1, atMs: 0, sessionId: 's' as SessionId }
    const requestId = 'req_1' as RequestId
    const processId = 'prc_1' as ProcessId
    const asked = { ...named, kind: 'request.asked' as const, requestId, processId, gate: 'ask' as const }
    const withdrawn = { ...named, kind: 'request.withdrawn' as const, requestId, reason: 'the agent left' }
    const ended = { ...named, kind: 'process.ended' as const, processId, exitCode: 2, outputBytes: 0 }
    const names = namesIn([ended, withdrawn, { ...asked, subject: command, subjectHash: 'h' }])
    expect([withdrawn, ended].map((record) => auditView(record, names).summary)).toEqual([
      "Withdrawn: git commit -m 'two words' (the agent left)",
      "Ended: git commit -m 'two words' (exit code 2)",
    ])
    expect([withdrawn, ended].map((record) => auditView(record).summary)).toEqual([
      'Withdrawn: req_1 (the agent left)',
      'Ended: prc_1 (exit code 2)',
    ])
  })

  it('survives a kind it does not know', () => {
    expect(auditView({ seq: 1, atMs: 0, kind: 'moon.rose' } as never)).toEqual({
      seq: 1,
      atMs: 0,
      kind: 'moon.rose',
      summary: 'moon.rose',
      sessionId: null,
    })
  })
})

it('maskSubject hides values of variables that look like secrets and nothing else', () => {
  expect(maskSubject(command)).toEqual({
    ...command,
    envChanges: {
      CI: '1',
      API_TOKEN: MASK,
      GIT_AUTHOR_NAME: 'me',
      AWS_SECRET_ACCESS_KEY: MASK,
      EMPTY_KEY: '',
      GONE: null,
    },
  })
})
